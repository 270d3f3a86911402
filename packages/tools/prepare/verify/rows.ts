/** Reads and decodes a run of rows, and tells of every one that is bad. Runs in threads. */
import { SeveralError } from '../../../core/basics/errors.js'
import { after, attempt, type Maybe } from '../../../core/basics/maybe.js'
import { missingColumn } from '../../../core/source/missing.js'
import { attachSource } from '../../../core/source/registry.js'
import { needOf, type RowRead, RowReader, readUnread } from '../../../core/source/row-reader.js'
import type { Manifest, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import type { Handler } from '../../../core/system/node/threads.js'
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
  const rows = new RowReader(source, reader)
  const work = Workspace.alone()
  let wanted = [...new Set(expectations.flatMap(expectation => expectation.columns))]
  const checks = expectations.map(expectation => ({ ...expectation, check: checkFor(expectation) }))

  /** Without a feed, all columns are read: what a field could not take as it is, is no fault of the data. */
  const passedOver = (error: unknown): boolean => {
    if (!(error instanceof SeveralError) || !expectations.every(({ guessed }) => guessed)) return false
    const before = wanted.length
    wanted = wanted.filter(column => column !== error.column)
    return wanted.length < before
  }

  /** Whether a row can be read, and what was read can be decoded. A promise only where a store has to be waited for. */
  const verifyRow = (row: number, found: RunVerified): Maybe<void> => {
    const blame = (stage: 'read' | 'decode', error: unknown, column?: string) =>
      found.bad.push({
        id: source.id(row),
        row,
        ...place(source, row),
        column,
        stage,
        cause: (error as Error).message,
      })
    const decode = ({ sample, bytes }: RowRead): void => {
      found.bytes += bytes
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
    return attempt(
      () =>
        after(rows.read(row, wanted), read =>
          after(readUnread(read.sample, reader), more => decode({ ...read, bytes: read.bytes + more })),
        ),
      error => (passedOver(error) ? verifyRow(row, found) : void blame('read', error)),
    )
  }

  return async ({ begin, end }, report) => {
    const found: RunVerified = { bytes: 0, bad: [] }
    for (let row = begin; row < end; row++) {
      const pending = verifyRow(row, found)
      if (pending instanceof Promise) await pending
    }
    report(end - begin)
    return found
  }
}

/** Where a row lies: as the source says, or else where its first range is. */
function place(source: Source, row: number): { file?: string; offset?: number } {
  if (source.where !== undefined) return source.where(row) ?? {}
  const { ranges, units } = needOf(source, row, source.columns)
  const range = ranges[0] ?? units[0]?.leaf.planUnit(units[0].unit, units[0].columns)[0]
  return range === undefined ? {} : { file: range.file, offset: range.offset }
}
