/**
 * How good an order is, against the global shuffle of the same rows, and what it costs to read. Four plain numbers:
 *
 * - mixing: how far apart rows come that were neighbours in the source, on average, in units of n/3, which is what
 *   a random permutation gives. Near 0 unshuffled, 1 for the global shuffle, about window/n for a window.
 * - spread: from how many places of the source a batch is drawn. The source is cut into as many cells as a batch
 *   has rows; counted are the cells that a batch touches, in units of the global shuffle's count.
 * - entropy: of the classes in a batch, in units of the global shuffle's. Only with labels.
 * - bytes read per byte used, sample by sample and block by block; and for sources with units of many rows, how often
 *   each unit is loaded.
 *
 * score = the mean of mixing, spread and (with labels) entropy, each cut to 0…1: about 0 for an unshuffled source
 * that is sorted by class, 1 for the global shuffle. Large sources are sampled, evenly, so it takes about a second.
 */
import { lastAtMost } from '../basics/search.js'
import { permutation } from './permutation.js'
import type { SourceOrder } from './single.js'

export interface QualityOptions {
  /** Rows of a batch, all ranks together. */
  batch: number
  epoch?: number
  label?: (row: number) => number | string | undefined
  /** Bytes of a row; without it all are taken as equal, and pages are left out of the count. */
  bytesOf?: (row: number) => number
  /** First row of each block, and the count at the end; with it reading by blocks is simulated … */
  blocks?: Float64Array
  /** … through a cache that holds this many rows. */
  cacheRows?: number
  /** First row of each unit, where rows share units: with it, loads through the cache are counted. */
  units?: Float64Array
}

export interface OrderQuality {
  score: number
  mixing: number
  spread: number
  entropy?: number
  bytesReadPerByteUsed: {
    /** Each sample read on its own, in pages of 4 kB, except those that follow the one read before. */
    samples: number
    /** Whole blocks, through the cache; and the same for the global shuffle. */
    blocks?: number
    globalBlocks?: number
  }
  /** Loads of a unit in an epoch, on average, through the cache. */
  loadsPerUnit?: number
}

const MOST_BATCHES = 400
const MOST_ROWS = 50_000
/** Draws of a simulated cache, after as many to fill it. */
const MOST_DRAWS = 2 ** 20
const PAGE = 4096

/** The row at a position of the epoch looked at. */
type RowAt = (position: number) => number

export function orderQuality(order: SourceOrder, count: number, options: QualityOptions): OrderQuality {
  const { epoch = 0, label, blocks, cacheRows = 0, units } = options
  const rowAt: RowAt = position => order.at(epoch, position)
  const global = permutation(count, { seed: 0, epoch, stream: 'quality' })
  const globalAt: RowAt = position => global.at(position)
  const { length } = order
  const batch = Math.max(1, Math.min(options.batch, length, count))

  const mixing = mixingDistance(order, count, epoch)
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
    bytesReadPerByteUsed: {
      samples: readBySamples(rowAt, length, options.bytesOf),
      ...(blocks !== undefined && {
        blocks: readByBlocks(rowAt, length, blocks, cacheRows),
        globalBlocks: readByBlocks(globalAt, count, blocks, cacheRows),
      }),
    },
    ...(units !== undefined && {
      loadsPerUnit: readByBlocks(rowAt, length, stretches(units, count), cacheRows),
    }),
  }
}

/** Stretches of rows that share their units, in the form of blocks. Units with equal starts share their rows. */
function stretches(units: Float64Array, count: number): Float64Array {
  return Float64Array.from(new Set(units).add(count))
}

/** Two equal measures of nothing, such as the entropy of a single class, are equally good. */
function ratio(value: number, reference: number): number {
  return reference === 0 ? 1 : value / reference
}

/** Mean distance of the positions of neighbouring rows, in units of (n + 1)/3. */
function mixingDistance(order: SourceOrder, count: number, epoch: number): number {
  // Draws with replacement have no inverse: there, the distance of the rows of neighbouring positions.
  const place: (i: number) => number = order.inverse
    ? row => order.inverse!(epoch, row)
    : position => order.at(epoch, position)
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

/** A sample of s bytes anywhere in a file touches s + 4095 bytes of pages on average. */
function readBySamples(rowAt: RowAt, length: number, bytesOf?: (row: number) => number): number {
  if (bytesOf === undefined || length === 0) return 1
  const draws = Math.min(length, MOST_ROWS)
  const from = Math.floor((length - draws) / 2)
  let read = 0
  let used = 0
  let before = -1
  for (let i = 0; i < draws; i++) {
    const row = rowAt(from + i)
    const bytes = bytesOf(row)
    used += bytes
    read += row === before + 1 ? bytes : bytes + PAGE - 1
    before = row
  }
  return ratio(read, used)
}

/**
 * Rows read per row used when whole blocks are read through a cache. The cache drops blocks that are used up, then
 * those unused for longest. Short epochs are simulated from beginning to end, long ones in their middle, after
 * a run that fills the cache.
 */
function readByBlocks(rowAt: RowAt, length: number, blocks: Float64Array, cacheRows: number): number {
  if (length === 0) return 1
  const measured = Math.min(length, Math.max(MOST_DRAWS, 2 * cacheRows))
  const from = Math.floor((length - measured) / 2)
  const fill = Math.max(0, from - measured)
  const usedUp = new Uint32Array(blocks.length)
  /** Blocks in the cache, those used longest ago first. */
  const held = new Set<number>()
  let heldRows = 0
  let read = 0
  for (let position = fill; position < from + measured; position++) {
    const block = lastAtMost(blocks, rowAt(position))
    const rows = blocks[block + 1] - blocks[block]
    if (!held.delete(block)) {
      heldRows += rows
      if (position >= from) read += rows
    }
    if (++usedUp[block] === rows) heldRows -= rows
    else held.add(block)
    for (const oldest of held) {
      // The block in use stays, however small the cache is.
      if (heldRows <= cacheRows || oldest === block) break
      held.delete(oldest)
      heldRows -= blocks[oldest + 1] - blocks[oldest]
    }
  }
  return read / measured
}
