/** A source of a plugin's: what it returns is checked once, in the thread that opens it, so that mistakes are named. */
import { MillraceError, SourceError } from '../basics/errors.js'
import { listOf, readRange, statOf } from '../store/access.js'
import type { Listed, Stat } from '../store/store.js'
import { Stores } from '../store/stores.js'
import { needOf } from './row-reader.js'
import type { Manifest, OpenContext, Source, SourceKind } from './source.js'

/**
 * A kind of source in a plugin. It opens no other sources: what a definition may run is checked without a look into the
 * plugin's own JSON.
 */
export interface PluginSourceKind<Json = unknown> {
  /** Throws where the JSON in a definition is wrong. `path` says where it stands there. */
  check?(json: unknown, path: string): void
  /** Runs once, in the main thread. */
  open(json: Json, context: PluginContext): Promise<PluginManifest> | PluginManifest
  /** Runs in every thread; quick and synchronous. */
  attach(manifest: Manifest): Source
}

/** What `open` of a plugin's source may use. */
export interface PluginContext extends OpenContext {
  /** Local files, and objects of every store that is known, by path or `scheme://…`. They can't be used after `open`. */
  objects: {
    stat(name: string): Promise<Stat>
    read(name: string, offset: number, length: number): Promise<Uint8Array>
    list(prefix: string): AsyncIterable<Listed>
  }
}

/** What `open` of a plugin's source returns: plain data that can be posted to threads. */
export interface PluginManifest {
  fingerprint: Omit<Manifest['fingerprint'], 'kind'>
  indexBytes?: number
  [more: string]: unknown
}

/** The members of a source that must be functions. */
const FUNCTIONS = ['id', 'key', 'index', 'need', 'sample'] as const

/** Those that may be absent. */
const MAY_BE_FUNCTIONS = ['where', 'load', 'present', 'keyHash', 'wholeFile', 'enqueueRow', 'layout'] as const

/** The same for one whose rows share units. */
const UNIT_FUNCTIONS = ['planUnit', 'unitBytes'] as const

/** The plugin's source as the registry has them. */
export function checkedSource(name: string, url: string, kind: PluginSourceKind): SourceKind {
  const wrong = (problem: string, cause?: unknown) =>
    new SourceError(`the source "${name}" of ${url}: ${problem}`, { cause })
  const wrongOf = (what: string, error: unknown): Error => {
    if (error instanceof MillraceError) return error
    return wrong(`${what} failed: ${error instanceof Error ? error.message : String(error)}`, error)
  }
  const attach = (manifest: Manifest): Source => {
    try {
      return kind.attach(manifest)
    } catch (error) {
      throw wrongOf('attach', error)
    }
  }
  return {
    attach,
    async open(json, context) {
      using stores = new Stores()
      let opened: PluginManifest
      try {
        opened = await kind.open(json, { ...context, objects: objectsOf(stores) })
      } catch (error) {
        throw wrongOf('open', error)
      }
      const problem = manifestProblem(opened)
      if (problem !== undefined) throw wrong(`its manifest ${problem}`)
      const { fingerprint, indexBytes = 0 } = opened
      const manifest: Manifest = {
        ...opened,
        kind: name,
        fingerprint: { ...fingerprint, kind: name },
        indexBytes,
      }
      let copy: Manifest
      try {
        copy = structuredClone(manifest)
      } catch (error) {
        throw wrong(`its manifest can't be posted to threads: ${(error as Error).message}`, error)
      }
      // From the copy, as in other threads.
      const source = attach(copy)
      let lack: string | undefined
      try {
        lack = sourceProblem(source, fingerprint.count)
      } catch (error) {
        throw wrongOf('asking what row 0 needs', error)
      }
      if (lack !== undefined) throw wrong(`what attach returned ${lack}`)
      return manifest
    },
  }
}

function objectsOf(stores: Stores): PluginContext['objects'] {
  return {
    stat: async name => statOf(stores, name),
    async read(file, offset, length) {
      const into = new Uint8Array(length)
      await readRange(stores, { file, offset, length }, into)
      return into
    },
    list: prefix => listOf(stores, prefix),
  }
}

/** What is wrong with a manifest; undefined: nothing. */
function manifestProblem(manifest: unknown): string | undefined {
  if (typeof manifest !== 'object' || manifest === null) return 'is no object'
  const { fingerprint, indexBytes } = manifest as Partial<PluginManifest>
  if (typeof fingerprint !== 'object' || fingerprint === null) return 'has no fingerprint'
  if (!isCount(fingerprint.count)) return 'has no fingerprint.count, which is the number of rows'
  if (typeof fingerprint.digest !== 'string' || fingerprint.digest === '')
    return 'has no fingerprint.digest, a text that is another for other contents'
  if (indexBytes !== undefined && !isCount(indexBytes)) return 'has indexBytes that are no number of bytes'
  return undefined
}

/** What is wrong with a source; undefined: nothing. */
function sourceProblem(source: Source, count: number): string | undefined {
  if (typeof source !== 'object' || source === null) return 'is no source'
  if (source.count !== count) return `has a count of ${source.count}, and the fingerprint ${count}`
  if (!Array.isArray(source.columns) || source.columns.some(name => typeof name !== 'string'))
    return 'has no columns, a list of names'
  if (!ascends(source.runs, count) || (count > 0 && source.runs.length === 0))
    return 'has no runs: a Float64Array of the first row of each file or run, ascending from 0'
  const units = source.unitStarts === undefined ? [] : UNIT_FUNCTIONS
  const missing = [...FUNCTIONS, ...units].find(name => typeof source[name] !== 'function')
  if (missing) return `has no function ${missing}`
  const none = MAY_BE_FUNCTIONS.find(name => source[name] !== undefined && typeof source[name] !== 'function')
  if (none) return `has a member "${none}" that is no function`
  return unitsProblem(source) ?? (count === 0 ? undefined : needProblem(source))
}

/** What is wrong with what the first row needs; undefined: nothing. */
function needProblem(source: Source): string | undefined {
  for (const { leaf, unit, columns } of needOf(source, 0, source.columns).units) {
    if (source.unitStarts === undefined) return 'asks for units of row 0 in need, but has no unitStarts'
    if (leaf !== source)
      return 'asks for a unit of row 0 whose leaf is not the source: write leaf: this, in a need(…) { … } that is no arrow function'
    if (!isCount(unit) || unit >= source.unitStarts.length)
      return `asks for unit ${unit} of row 0, and has ${source.unitStarts.length} units, from 0`
    if (!Array.isArray(columns)) return 'asks for a unit of row 0 without columns, a list of names'
    const ranges: unknown = source.planUnit!(unit, columns)
    if (!Array.isArray(ranges)) return `gives no list of ranges in planUnit(${unit})`
    const bytes: unknown = source.unitBytes!(unit, columns)
    if (!isCount(bytes)) return `gives no number of bytes in unitBytes(${unit}), but ${bytes}`
  }
  return undefined
}

function ascends(rows: Float64Array, count: number): boolean {
  if (!(rows instanceof Float64Array)) return false
  return rows.every((row, i) => (i === 0 ? row === 0 : row > rows[i - 1]) && row < Math.max(1, count))
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Whether the units that a source tells of are what an order can be made from. */

/** What a source says of its rows. */
interface Rows {
  readonly count: number
  readonly runs: Float64Array
  /** First row of each unit, ascending from 0. Equal starts: units that share their rows. */
  readonly unitStarts?: Float64Array
}

/** What is wrong with the units of a source: they must begin at row 0, ascend, and lie within runs. Undefined: nothing. */
export function unitsProblem({ count, runs, unitStarts }: Rows): string | undefined {
  if (unitStarts === undefined) return undefined
  if (!(unitStarts instanceof Float64Array)) return 'has unitStarts that are no Float64Array'
  if (count === 0) return undefined
  if (unitStarts[0] !== 0) return `has unitStarts that begin with ${unitStarts[0]}, not with row 0`
  for (let unit = 1; unit < unitStarts.length; unit++) {
    const start = unitStarts[unit]
    if (!(start >= unitStarts[unit - 1] && start <= count && Number.isInteger(start)))
      return `has a unit ${unit} that begins at row ${start}, after ${unitStarts[unit - 1]}, of ${count} rows`
  }
  let unit = 0
  for (const border of runs) {
    if (border >= count) break
    while (unitStarts[unit + 1] <= border) unit++
    if (unitStarts[unit] === border) continue
    const last = (unitStarts[unit + 1] ?? count) - 1
    return `has a unit ${unit} of rows ${unitStarts[unit]} to ${last}, but a run begins at row ${border}: no unit may reach over that`
  }
  return undefined
}
