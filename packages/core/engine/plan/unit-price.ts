/**
 * What an order over units of many rows costs. A windowed shuffle loads each unit once, if the cache holds its window. A
 * global one wants a row of any unit at any time: what the cache does not hold is loaded anew for nearly every row.
 */
import { BudgetError } from '../../basics/errors.js'
import type { SourceOrderData } from '../../order/single.js'
import type { CachedSource, UnitFacts } from './unit-facts.js'

/**
 * More than the window itself: what is being made reaches into the next one, and blocks and units reach over the ends of both.
 * Units are large, and no two of one size: some memory between them stays empty.
 */
const WINDOWS_OF_BLOCKS = 1.5
const WINDOWS_OF_UNITS = 2
const MORE_UNITS = 6

/** Bytes of the cache that a unit takes more than its own: it begins on a page, and the places of its pieces are noted behind it. */
const LOST_A_UNIT = 4096

/** The cache must hold this many of the largest units: those of two rows in use, and those that come next. */
const UNITS_A_CACHE = 4

/** A window of fewer units draws its batches from few places. */
const FEWEST_UNITS_A_WINDOW = 16

/** A window of this many mixes nearly as well as a global shuffle. */
const ENOUGH_UNITS_A_WINDOW = 256

/** Loads of a unit in an epoch that are worth a notice. */
const NOTICE_FROM_LOADS = 3

/**
 * Bytes of the cache with which every unit and every block is loaded once an epoch. `ahead`: rows of all ranks that are made
 * before they are asked for.
 */
export function cacheWanted(sources: readonly CachedSource[], ahead = 0): number {
  const rows = sources.reduce((sum, { order }) => sum + order.count, 0)
  const windows = sources.reduce(
    (sum, source) => sum + sourceWanted(source, (ahead * source.order.count) / Math.max(1, rows)),
    0,
  )
  return Math.max(windows, leastCache(sources))
}

function sourceWanted({ order, bytes, units }: CachedSource, ahead: number): number {
  if (order.kind !== 'window')
    return units === undefined || order.kind === 'none' ? 0 : units.bytes + LOST_A_UNIT * units.stretches
  const rows = Math.max(1, order.count)
  const window = Math.min(order.window, rows)
  if (units === undefined) return Math.ceil((bytes * (WINDOWS_OF_BLOCKS * window + ahead)) / rows)
  const held = Math.min(rows, WINDOWS_OF_UNITS * window + ahead) / rows
  return Math.ceil(units.bytes * held) + MORE_UNITS * units.largest
}

/** The smallest cache that the largest units go through. */
function leastCache(sources: readonly CachedSource[]): number {
  return UNITS_A_CACHE * Math.max(0, ...sources.map(({ units }) => units?.largest ?? 0))
}

/** Throws where a unit takes more than a quarter of the cache. */
export function checkUnitsFit(sources: readonly CachedSource[], cacheBytes: number): void {
  const least = leastCache(sources)
  if (least <= cacheBytes) return
  const { name } = sources.find(({ units }) => units && UNITS_A_CACHE * units.largest === least)!
  throw new BudgetError(
    `a row of "${name}" needs units (row groups, chunks) of up to ${mib(least / UNITS_A_CACHE)} MiB, and the cache of ` +
      `${mib(cacheBytes)} MiB must have room for ${UNITS_A_CACHE} such: raise the option "cache" to at least ` +
      `${least} bytes, or write the data in smaller row groups or chunks`,
  )
}

/** How often a global shuffle loads a unit in an epoch, through a cache that holds this share of all units. */
export function loadsPerUnit({ rows, stretches }: UnitFacts, heldShare: number): number {
  return Math.max(1, (rows / stretches) * (1 - Math.min(1, heldShare)))
}

/** The share of all units of a feed that the cache holds. */
function heldShare(sources: readonly CachedSource[], cacheBytes: number): number {
  const bytes = sources.reduce((sum, { units }) => sum + (units?.bytes ?? 0), 0)
  return bytes === 0 ? 1 : Math.min(1, cacheBytes / bytes)
}

/** Units that the window of an order holds, on average; undefined for other orders. */
function unitsPerWindow(order: SourceOrderData, { rows, stretches }: UnitFacts): number | undefined {
  return order.kind === 'window' ? (Math.min(order.window, rows) * stretches) / rows : undefined
}

/** Units of a source in figures, for `inspect`. */
export interface UnitFigures {
  /** Stretches of rows that share their units. */
  units: number
  rowsPerUnit: number
  /** Rows of the source whose units the cache holds. */
  cacheRows: number
  /** The price: how often a global shuffle loads a unit in an epoch. */
  globalLoads: number
}

/** The figures of a feed's sources; undefined for those without units of many rows. */
export function unitFigures(
  sources: readonly CachedSource[],
  cacheBytes: number,
): (UnitFigures | undefined)[] {
  const held = heldShare(sources, cacheBytes)
  return sources.map(({ units }) => {
    if (units === undefined) return undefined
    return {
      units: units.stretches,
      rowsPerUnit: units.rows / units.stretches,
      cacheRows: Math.floor(held * units.rows),
      globalLoads: loadsPerUnit(units, held),
    }
  })
}

/** What a user should know before a run: at most one notice about loads, and one about the mixing. */
export function unitNotices(sources: readonly CachedSource[], cacheBytes: number): string[] {
  const loads = priceNotice(sources, cacheBytes) ?? windowNotice(sources, cacheBytes)
  return [loads, mixingNotice(sources)].filter(text => text !== undefined)
}

/** A cache that is smaller than the windows of a feed: by the user's wish, or since memory is short. */
function windowNotice(sources: readonly CachedSource[], cacheBytes: number): string | undefined {
  const windowed = sources.filter(({ order }) => order.kind === 'window')
  const needed = windowed.reduce((sum, source) => sum + sourceWanted(source, 0), 0)
  if (needed <= cacheBytes || windowed.every(({ units }) => units === undefined)) return undefined
  return (
    `the windows need a cache of ${mib(needed)} MiB, and it has ${mib(cacheBytes)} MiB: units (row groups, chunks) are loaded ` +
    `more than once an epoch. Raise the option "cache" to at least ${needed} bytes, or take a smaller window`
  )
}

function priceNotice(sources: readonly CachedSource[], cacheBytes: number): string | undefined {
  const held = heldShare(sources, cacheBytes)
  const [mostExpensive] = sources
    .flatMap(({ name, order, units }) =>
      units && (order.kind === 'global' || order.kind === 'weights')
        ? [{ name, order, units, loads: loadsPerUnit(units, held) }]
        : [],
    )
    .sort((a, b) => b.loads - a.loads)
  if (mostExpensive === undefined || mostExpensive.loads <= NOTICE_FROM_LOADS) return undefined
  const { name, order, units, loads } = mostExpensive
  const window = order.kind === 'global' ? windowThatFits(units, cacheBytes * shareOf(units, sources)) : 0
  const what = order.kind === 'global' ? 'a global shuffle' : 'an order by weights'
  return (
    `${what} loads each unit (row group, chunk) of "${name}" about ${figure(loads)} times an epoch: a unit has ` +
    `${figure(units.rows / units.stretches)} rows, and the cache of ${mib(cacheBytes)} MiB holds ` +
    `${figure(100 * held)} % of all units. ` +
    (window > 0 ? `{"shuffle": {"window": ${window}}} loads each once; a` : 'A') +
    ' larger cache (option "cache") or data in smaller row groups or chunks make it less'
  )
}

/** The part of the cache that a source has, by its bytes. */
function shareOf(units: UnitFacts, sources: readonly CachedSource[]): number {
  return (
    units.bytes /
    Math.max(
      1,
      sources.reduce((sum, source) => sum + (source.units?.bytes ?? 0), 0),
    )
  )
}

/** A window that mixes well and fits into a cache, in round figures; 0 where none of two units or more does. */
export function windowThatFits({ rows, stretches, bytes, largest }: UnitFacts, cacheBytes: number): number {
  const rowBytes = bytes / rows
  const fits = (cacheBytes - MORE_UNITS * largest) / WINDOWS_OF_UNITS / rowBytes
  const window = Math.min(fits, rows, (ENOUGH_UNITS_A_WINDOW * rows) / stretches)
  return window * stretches < 2 * rows ? 0 : roundDown(window)
}

/** Two figures are enough. */
function roundDown(n: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(n)) - 1)
  return Math.floor(n / step) * step
}

function mixingNotice(sources: readonly CachedSource[]): string | undefined {
  const [worst] = sources
    .flatMap(({ name, order, units }) =>
      units && order.kind === 'window' && order.window < units.rows
        ? [{ name, window: order.window, units, held: unitsPerWindow(order, units)! }]
        : [],
    )
    .sort((a, b) => a.held - b.held)
  if (worst === undefined || worst.held >= FEWEST_UNITS_A_WINDOW) return undefined
  const { name, window, units, held } = worst
  const unitRows = units.rows / units.stretches
  const enough = Math.min(units.rows, Math.ceil(FEWEST_UNITS_A_WINDOW * unitRows))
  return (
    `a window of ${window} samples holds ${figure(held)} units (row groups, chunks) of "${name}", of ` +
    `${figure(unitRows)} rows each: batches mix few places of the data. Take a window of at least ${enough}, ` +
    'or write the data in smaller row groups or chunks'
  )
}

/** Two figures of what is small; whole numbers of what is not. */
function figure(n: number): string {
  return n >= 10 ? Math.round(n).toLocaleString('en') : `${Number(n.toPrecision(2))}`
}

function mib(bytes: number): string {
  return Math.ceil(bytes / 2 ** 20).toLocaleString('en')
}
