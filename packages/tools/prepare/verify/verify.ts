/**
 * Verifies a source: every sample is read and decoded, every bad one is named. Indexes are not believed: the data are
 * indexed anew, and an index that says otherwise is replaced.
 */

import { columnLimits, limitOf } from '../../../core/define/limits.js'
import type { NormalField, SourceJson } from '../../../core/define/types.js'
import { attachSource, openSources } from '../../../core/source/registry.js'
import type { OnProgress, OpenContext, Source } from '../../../core/source/source.js'
import { spread } from '../../../core/system/node/threads.js'
import { type Expectation, kindOf, kindOfType } from './checks.js'
import { type BadSample, type RowRun, rowVerifier } from './rows.js'

export interface VerifyOptions {
  /** Folder against which relative paths are resolved. */
  root: string
  /** What the samples must have; by default every column is decoded as what its name says. */
  fields?: readonly NormalField[]
  /** Threads; 0 verifies in the calling one. */
  workers: number
  /** URLs of plugins, which are loaded here: threads load them as well. */
  plugins?: readonly string[]
  onProgress?: OnProgress
  /** Called with what was left out, or rebuilt. */
  onNotice?: (text: string) => void
}

export interface VerifyResult {
  samples: number
  bytes: number
  columns: string[]
  /** In the order of rows. A sample with two bad columns stands here twice. */
  bad: BadSample[]
}

/** Rows that a thread takes at a time: some hundred milliseconds of decoding. */
const RUN = 256

export async function verify(json: SourceJson, options: VerifyOptions): Promise<VerifyResult> {
  const { root, fields, onProgress: progress, onNotice: notice } = options
  const wanted = fields?.flatMap(field => field.from) ?? []
  const most = columnLimits(fields ?? [])
  const context: OpenContext = { root, wanted, most, check: 'nothing', progress, notice }
  const { sources, fingerprint } = await openSources(json, context)
  const result: VerifyResult = { samples: fingerprint.count, bytes: 0, columns: [], bad: [] }
  let done = 0
  for (const { manifest } of sources) {
    const source = attachSource(manifest)
    const columns = columnNames(source)
    const bad: BadSample[] = []
    await spread({
      threads: options.workers,
      worker: new URL('./worker.js', import.meta.url),
      setup: {
        manifest,
        plugins: options.plugins,
        expectations: fields?.flatMap(expected) ?? byThemselves(source, columns),
      },
      start: rowVerifier,
      tasks: runsOf(source.count),
      onProgress: more => progress?.((done += more), fingerprint.count, 'verifying', 'samples'),
      onResult: found => {
        result.bytes += found.bytes
        bad.push(...found.bad)
      },
    })
    result.bad.push(...bad.sort((a, b) => a.row - b.row))
    result.columns = [...new Set([...result.columns, ...columns])]
  }
  return result
}

function runsOf(count: number): RowRun[] {
  return Array.from({ length: Math.ceil(count / RUN) }, (_, i) => ({
    begin: i * RUN,
    end: Math.min(count, (i + 1) * RUN),
  }))
}

function expected(field: NormalField): Expectation[] {
  const { from, as, classes, missing } = field
  const limit = limitOf(field)
  const optional = missing !== undefined
  const one = (columns: string[]): Expectation => ({
    columns,
    kind: as,
    ...(optional && { optional }),
    ...(classes && { classes }),
    ...(limit && { limit }),
  })
  return as === 'vector' ? from.map(name => one([name])) : [one(from)]
}

/**
 * By the type that the source tells of a column, otherwise by its name. What a list of files says is text that can't be bad; `label`
 * may be a name there.
 */
function byThemselves(source: Source, columns: readonly string[]): Expectation[] {
  const types = new Map(source.layout?.()?.schema.map(({ name, type }) => [name, type]))
  return columns.map(column => {
    const reported = source.wholeFile?.(0) !== undefined && source.index(column) !== undefined
    const type = types.get(column)
    const kind = reported ? 'text' : type === undefined ? kindOf(column) : kindOfType(column, type)
    return { columns: [column], kind, guessed: true, optional: true }
  })
}

/** All columns there are. A source of plain files names those of the first files only: here every name is looked at. */
function columnNames(source: Source): string[] {
  const found = new Set<string>()
  for (let row = 0; row < source.count; row++) {
    const file = source.wholeFile?.(row)
    if (file?.byExtension !== true) return [...source.columns]
    found.add(file.extension)
  }
  found.delete('')
  return [...found, 'path']
}
