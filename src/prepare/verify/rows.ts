/** Reads and decodes a run of rows, and tells of every one that is bad. Runs in threads. */
import { missingColumn } from '../../source/missing.js'
import { attachSource } from '../../source/registry.js'
import type { Column, Manifest, Source } from '../../source/source.js'
import { Reader } from '../../store/reader.js'
import { Stores } from '../../store/stores.js'
import { Workspace } from '../../system/memory/workspace.js'
import type { Handler } from '../threads.js'
import { checkFor, type Expectation } from './checks.js'

export interface VerifySetup {
  manifest: Manifest
  plugins?: readonly string[]
  expectations: Expectation[]
}

/** Rows `begin`…`end`−1. */
export interface RowRun {
  begin: number
  end: number
}

export interface BadSample {
  id: string
  row: number
  file?: string
  offset?: number
  /** The column at fault; absent when the sample can't even be read. */
  column?: string
  stage: 'read' | 'decode'
  cause: string
}

export interface RunVerified {
  bytes: number
  bad: BadSample[]
}

export function rowVerifier({ manifest, expectations }: VerifySetup): Handler<RowRun, RunVerified> {
  const source = attachSource(manifest)
  const reader = new Reader(new Stores({ access: 'sequential' }))
  const work = Workspace.alone()
  const wanted = [...new Set(expectations.flatMap(expectation => expectation.columns))]
  const checks = expectations.map(expectation => ({ ...expectation, check: checkFor(expectation) }))

  const readRow = async (row: number): Promise<{ sample: Record<string, Column>; bytes: number }> => {
    const unit = source.unitOf(row)
    const pieces = await reader.read(source.plan(unit, wanted))
    const sample = source.sample(row, source.load?.(unit, pieces) ?? pieces, wanted)
    return { sample, bytes: pieces.reduce((sum, piece) => sum + piece.byteLength, 0) }
  }

  const verifyRow = async (row: number, found: RunVerified): Promise<void> => {
    const blame = (stage: 'read' | 'decode', error: unknown, column?: string) =>
      found.bad.push({
        id: source.id(row),
        row,
        ...place(source, row),
        column,
        stage,
        cause: (error as Error).message,
      })
    let sample: Record<string, Column>
    try {
      const read = await readRow(row)
      sample = read.sample
      found.bytes += read.bytes
    } catch (error) {
      blame('read', error)
      return
    }
    for (const { columns, check, optional } of checks) {
      const column = columns.find(name => name in sample)
      try {
        if (column !== undefined) check(sample[column], work)
        else if (!optional) throw new Error(missingColumn(source, row, columns))
      } catch (error) {
        blame('decode', error, column)
      } finally {
        work.reset()
      }
    }
  }

  return async ({ begin, end }, report) => {
    const found: RunVerified = { bytes: 0, bad: [] }
    for (let row = begin; row < end; row++) await verifyRow(row, found)
    report(end - begin)
    return found
  }
}

/** Where a row lies: as the source says, or else where its first range is. */
function place(source: Source, row: number): { file?: string; offset?: number } {
  if (source.where !== undefined) return source.where(row) ?? {}
  const range = source.plan(source.unitOf(row), source.columns)[0]
  return range === undefined ? {} : { file: range.file, offset: range.offset }
}
