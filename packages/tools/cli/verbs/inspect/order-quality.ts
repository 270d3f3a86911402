/**
 * How good an order is, against the global shuffle of the same rows. Plain numbers:
 *
 * - mixing: how far apart rows come that were neighbours in the source, on average, in units of n/3, which is what
 *   a random permutation gives. Near 0 unshuffled, 1 for the global shuffle, about window/n for a window.
 * - spread: from how many places of the source a batch is drawn. The source is cut into as many cells as a batch
 *   has rows; counted are the cells that a batch touches, in units of the global shuffle's count.
 * - entropy: of the classes in a batch, in units of the global shuffle's. Only with labels.
 * - loads per unit: how often each unit of many rows is read. Only for sources that have such.
 *
 * score = the mean of mixing, spread and (with labels) entropy, each cut to 0…1: about 0 for an unshuffled source
 * that is sorted by class, 1 for the global shuffle. Large sources are sampled, evenly, so it takes about a second.
 */
import { lastAtMost } from '../../../../core/basics/search.js'
import { permutation } from '../../../../core/order/permutation.js'
import type { SourceOrder } from '../../../../core/order/single.js'

export interface QualityOptions {
  /** Rows of a batch, all ranks together. */
  batch: number
  label?: (row: number) => number | string | undefined
  /** First row of each unit, where rows share units: with it, loads through the cache are counted. */
  units?: Float64Array
  /** Rows whose units the cache holds. */
  cacheRows?: number
}

export interface OrderQuality {
  score: number
  mixing: number
  spread: number
  entropy?: number
  /** Loads of a unit in an epoch, on average, through the cache. */
  loadsPerUnit?: number
}

const MOST_BATCHES = 400
const MOST_ROWS = 50_000
/** Draws of a simulated cache, after as many to fill it. */
const MOST_DRAWS = 2 ** 20

/** The row at a position of the first epoch. */
type RowAt = (position: number) => number

export function orderQuality(order: SourceOrder, count: number, options: QualityOptions): OrderQuality {
  const { label, cacheRows = 0, units } = options
  const rowAt: RowAt = position => order.at(0, position)
  const global = permutation(count, { seed: 0, epoch: 0, stream: 'quality' })
  const globalAt: RowAt = position => global.at(position)
  const { length } = order
  const batch = Math.max(1, Math.min(options.batch, length, count))

  const mixing = mixingDistance(order, count)
  const cells = cellsPerBatch(count, batch)
  const spread = ratio(
    meanOverBatches(rowAt, length, batch, cells),
    meanOverBatches(globalAt, count, batch, cells),
  )
  const parts = [mixing, spread]
  let entropy: number | undefined
  if (label !== undefined) {
    const bits = labelEntropy(label)
    entropy = ratio(
      meanOverBatches(rowAt, length, batch, bits),
      meanOverBatches(globalAt, count, batch, bits),
    )
    parts.push(entropy)
  }
  const score = parts.reduce((sum, part) => sum + Math.min(1, Math.max(0, part)), 0) / parts.length

  return {
    score,
    mixing,
    spread,
    ...(entropy !== undefined && { entropy }),
    ...(units !== undefined && {
      loadsPerUnit: readByUnits(rowAt, length, stretches(units, count), cacheRows),
    }),
  }
}

/** The first row of each stretch of rows that share their units, and the count at the end. */
function stretches(units: Float64Array, count: number): Float64Array {
  return Float64Array.from(new Set(units).add(count))
}

/** Two equal measures of nothing, such as the entropy of a single class, are equally good. */
function ratio(value: number, reference: number): number {
  return reference === 0 ? 1 : value / reference
}

/** Mean distance of the positions of neighbouring rows, in units of (n + 1)/3. */
function mixingDistance(order: SourceOrder, count: number): number {
  // Draws with replacement have no inverse: there, the distance of the rows of neighbouring positions.
  const place: (i: number) => number = order.inverse
    ? row => order.inverse!(0, row)
    : position => order.at(0, position)
  const last = (order.inverse ? count : order.length) - 1
  if (last < 1) return 1
  const samples = Math.min(last, MOST_ROWS)
  let sum = 0
  for (let i = 0; i < samples; i++) {
    const at = Math.floor((i * last) / samples)
    sum += Math.abs(place(at + 1) - place(at))
  }
  return sum / samples / ((count + 1) / 3)
}

/** The mean of a measure over batches spread evenly through the epoch. */
function meanOverBatches(
  rowAt: RowAt,
  length: number,
  batch: number,
  measure: (rows: Float64Array) => number,
): number {
  const batches = Math.floor(length / batch)
  const samples = Math.min(batches, MOST_BATCHES)
  if (samples === 0) return 0
  const rows = new Float64Array(batch)
  let sum = 0
  for (let i = 0; i < samples; i++) {
    const from = Math.floor((i * batches) / samples) * batch
    for (let j = 0; j < batch; j++) rows[j] = rowAt(from + j)
    sum += measure(rows)
  }
  return sum / samples
}

function cellsPerBatch(count: number, batch: number): (rows: Float64Array) => number {
  return rows => {
    const cells = new Set<number>()
    for (const row of rows) cells.add(Math.floor((row * batch) / count))
    return cells.size
  }
}

/** Shannon entropy of the labels, in bits. */
function labelEntropy(label: (row: number) => number | string | undefined): (rows: Float64Array) => number {
  return rows => {
    const counts = new Map<number | string | undefined, number>()
    for (const row of rows) {
      const name = label(row)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    let bits = 0
    for (const n of counts.values()) bits -= (n / rows.length) * Math.log2(n / rows.length)
    return bits
  }
}

/**
 * Rows loaded per row used, when whole units are loaded through a cache. The cache drops units that are used up, then
 * those unused for longest. Short epochs are simulated from beginning to end, long ones in their middle, after
 * a run that fills the cache.
 */
function readByUnits(rowAt: RowAt, length: number, units: Float64Array, cacheRows: number): number {
  if (length === 0) return 1
  const measured = Math.min(length, Math.max(MOST_DRAWS, 2 * cacheRows))
  const from = Math.floor((length - measured) / 2)
  const fill = Math.max(0, from - measured)
  const usedUp = new Uint32Array(units.length)
  /** Units in the cache, those used longest ago first. */
  const held = new Set<number>()
  let heldRows = 0
  let read = 0
  for (let position = fill; position < from + measured; position++) {
    const unit = lastAtMost(units, rowAt(position))
    const rows = units[unit + 1] - units[unit]
    if (!held.delete(unit)) {
      heldRows += rows
      if (position >= from) read += rows
    }
    if (++usedUp[unit] === rows) heldRows -= rows
    else held.add(unit)
    for (const oldest of held) {
      // The unit in use stays, however small the cache is.
      if (heldRows <= cacheRows || oldest === unit) break
      held.delete(oldest)
      heldRows -= units[oldest + 1] - units[oldest]
    }
  }
  return read / measured
}
