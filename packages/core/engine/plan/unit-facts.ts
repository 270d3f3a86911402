/**
 * What must be known of a source's units to plan for them: how many there are, and what they take in memory once loaded.
 * Units are what rows share, such as row groups and chunks. Sources whose rows share nothing have no facts.
 */
import { SourceError } from '../../basics/errors.js'
import { lastAtMost } from '../../basics/search.js'
import type { SourceOrderData } from '../../order/single.js'
import type { Manifest } from '../../source/source.js'
import type { FeedPlan } from './plan.js'

/** What is asked of a source. */
export interface UnitSource {
  readonly count: number
  readonly unitStarts?: Float64Array
  /** First row of each file, where the source says it. */
  readonly runs?: Float64Array
  /** Of a leaf: bytes that a unit takes once it is loaded. */
  unitBytes?(unit: number, columns: readonly string[]): number
  /** Which units a row needs, of which leaves. */
  need?(row: number, epoch: number, columns: readonly string[], out: UnitNeed): void
}

interface UnitNeed {
  ranges: unknown[]
  units: { leaf: UnitSource; unit: number; columns: readonly string[] }[]
}

export interface UnitFacts {
  rows: number
  /** Stretches of rows that share their units: all rows of a row group, for instance. */
  stretches: number
  /** Bytes of all units, loaded. */
  bytes: number
  /** Bytes of the units that one row needs, loaded: the most that any row does. */
  largest: number
}

/** A source of a feed, as far as its cache goes. */
export interface CachedSource {
  /** What messages call it. */
  name: string
  order: SourceOrderData
  /** Bytes of the source, as far as they are known. */
  bytes: number
  /** Only for sources that have units of many rows. */
  units?: UnitFacts
}

/** Facts are looked up once a feed: its rings and notices ask for them again. */
const kept = new WeakMap<FeedPlan['attached'], (UnitFacts | undefined)[]>()

/** The sources of a feed, as far as its cache goes. */
export function cachedSources({ feed, sources, attached, orderData }: FeedPlan): CachedSource[] {
  const bytes = sources.map(({ manifest }) =>
    (manifest.fingerprint.parts ?? []).reduce((sum, part) => sum + part.bytes, 0),
  )
  let facts = kept.get(attached)
  if (facts === undefined) {
    // A function over the sample gets every column.
    const wanted = feed.map === undefined ? [...new Set(feed.fields.flatMap(field => field.from))] : undefined
    facts = attached.map((source, i) => unitFacts(source, wanted ?? source.columns, bytes[i]))
    kept.set(attached, facts)
  }
  return sources.map(({ manifest, name }, i) => ({
    name: name ?? kindOf(manifest),
    order: orderData.sources[i],
    bytes: bytes[i],
    units: facts[i],
  }))
}

/** What a source is called where it has no name: an index of values or of files around it is nothing that a definition says. */
function kindOf(manifest: Manifest): string {
  const { kind, child } = manifest as Manifest & { child?: Manifest }
  return child !== undefined && (kind === 'valued' || kind === 'pathed') ? kindOf(child) : kind
}

/** Stretches that are looked at: a look takes some microseconds. */
const MOST_LOOKS = 2 ** 13
/** Files that are looked into: the index of each has to be opened for that, which takes some 0.3 ms. */
const MOST_RUNS = 32

/**
 * The facts of a source that has units of many rows; undefined for others, at no cost. Of very many units, and of units in
 * very many files, some are looked at. `bytes` stands in for the loaded size of sources that don't tell it.
 */
export function unitFacts(
  source: UnitSource,
  columns: readonly string[],
  bytes: number,
): UnitFacts | undefined {
  const { count: rows, unitStarts, runs = new Float64Array(1) } = source
  if (unitStarts === undefined || rows === 0) return undefined
  const starts = stretchesOf(unitStarts, rows)
  const stretches = starts.length
  if (stretches === rows) return undefined

  const seen = new Map<UnitSource, Set<number>>()
  let reported = false
  let sum = 0
  let largest = 0
  let mostRows = 0
  let rowsSeen = 0
  for (const i of looksAt(starts, rows, runs)) {
    const need: UnitNeed = { ranges: [], units: [] }
    source.need?.(starts[i], 0, columns, need)
    let together = 0
    for (const { leaf, unit, columns } of need.units) {
      if (leaf.unitBytes === undefined) continue
      reported = true
      const own = leaf.unitBytes(unit, columns)
      if (!(own >= 0))
        throw new SourceError(`unitBytes of unit ${unit} gave ${own}: it should be a number of bytes`)
      together += own
      // Rows that are selected here and there can come back to a unit: its bytes count once.
      if (!seen.has(leaf)) seen.set(leaf, new Set())
      if (seen.get(leaf)!.has(unit)) continue
      seen.get(leaf)!.add(unit)
      sum += own
    }
    const own = (starts[i + 1] ?? rows) - starts[i]
    rowsSeen += own
    largest = Math.max(largest, together)
    mostRows = Math.max(mostRows, own)
  }
  return reported
    ? { rows, stretches, bytes: Math.ceil((sum * rows) / rowsSeen), largest }
    : { rows, stretches, bytes, largest: Math.ceil((bytes * mostRows) / rows) }
}

/**
 * The stretches to look at: all; or some of each file; or, of very many files, some of some files. Always the one with the
 * most rows, which mostly takes the most bytes.
 */
function looksAt(starts: Float64Array, rows: number, runs: Float64Array): Iterable<number> {
  const { length } = starts
  if (length <= MOST_LOOKS && runs.length <= MOST_RUNS) return starts.keys()
  const looks = new Set<number>()
  const spread = (from: number, to: number, most: number): void => {
    const some = Math.min(most, to - from)
    for (let look = 0; look < some; look++) looks.add(from + Math.floor((look * (to - from)) / some))
  }
  if (runs.length <= MOST_RUNS) spread(0, length, MOST_LOOKS)
  else {
    for (let i = 0; i < MOST_RUNS; i++) {
      const run = Math.floor((i * runs.length) / MOST_RUNS)
      const end = run + 1 < runs.length ? lastAtMost(starts, runs[run + 1] - 1, 0, length - 1) + 1 : length
      spread(lastAtMost(starts, runs[run], 0, length - 1), end, MOST_LOOKS / MOST_RUNS)
    }
  }
  let largest = 0
  for (let i = 0, most = 0; i < length; i++) {
    const own = (i + 1 < length ? starts[i + 1] : rows) - starts[i]
    if (own > most) [most, largest] = [own, i]
  }
  return looks.add(largest)
}

/** The first row of each stretch: units with equal starts share their rows, and those past the end have none. */
function stretchesOf(unitStarts: Float64Array, rows: number): Float64Array {
  let stretches = 0
  const starts = new Float64Array(unitStarts.length)
  for (const start of unitStarts)
    if (start < rows && (stretches === 0 || start > starts[stretches - 1])) starts[stretches++] = start
  return starts.subarray(0, stretches)
}
