/**
 * Tables that drive the `place` kernel along one axis: which source pixels make each output pixel, in the form
 * that its inner loops want. They depend on sizes and filter alone, so they are kept for the next picture.
 */
import type { Filter } from '../../operators/step.js'
import { nearestIndex, type Weights, weigh, weightsOf } from './weights.js'

/** How the kernel makes a row of the output's width. The numbers are the kernel's. */
export const ACROSS = { keep: 0, shuffle: 1, pick: 2, pairs: 3, taps: 4 } as const
/** How the kernel makes an output row of several such rows. */
export const DOWN = { pick: 0, lerp: 1, blend: 2 } as const

export interface AxisTable {
  mode: number
  bytes: Uint8Array
  /** Weights per output in the table (`taps`, `lerp` and `blend`). */
  taps: number
  shift: number
}

/** A resize along one axis, of which only outputs `from` to `from + count − 1` are wanted. */
export interface Scaling {
  input: number
  output: number
  from: number
  count: number
  filter: Filter
  antialias: boolean
}

/** How rows are to come out. */
export interface Across {
  flip: boolean
  channels: 1 | 3
  planar: boolean
}

const SHUFFLE_STEP = 20 // 16 mask, 4 base
const PAIRS_STEP = 36 // 16 mask, 16 weights, 4 base
const PAIR_SHIFT = 14 // fractional bits that `pairs` and `lerp` are written for: those of any enlargement
const ONE = 1 << PAIR_SHIFT
const NOTHING = 0x80 // mask byte that gives zero
const WINDOW = 16 // bytes that a group of 4 pixels is made from

/** Bytes of tables that a thread keeps; random crops of pictures of one size need about 2 MiB for all theirs. */
const KEPT_BYTES = 4 << 20
const kept = new Map<string, AxisTable>()
let keptBytes = 0

function remember(key: string, make: () => AxisTable): AxisTable {
  let table = kept.get(key)
  if (table !== undefined) return table
  table = make()
  keptBytes += table.bytes.length
  kept.set(key, table)
  for (const [oldest, { bytes }] of kept) {
    if (keptBytes <= KEPT_BYTES || oldest === key) break
    kept.delete(oldest)
    keptBytes -= bytes.length
  }
  return table
}

const KEEP: AxisTable = { mode: ACROSS.keep, bytes: new Uint8Array(0), taps: 0, shift: 0 }

/** The table along x. */
export function acrossTable(scaling: Scaling, to: Across): AxisTable {
  if (isIdentity(scaling) && scaling.from === 0 && !to.flip && !to.planar) return KEEP
  const kind = `${to.flip ? 'f' : ''}${to.planar ? 'p' : ''}${to.channels}`
  return remember(`x${kind}${nameOf(scaling)}`, () => {
    if (isIdentity(scaling) || scaling.filter === 'nearest') return moves(indexOf(scaling), to)
    const weights = weightsFor(scaling)
    return pairs(weights, to) ?? taps(weights, to)
  })
}

/** The table along y: for each output row, first source row, number of source rows, then 16-bit weights. */
export function downTable(scaling: Scaling): AxisTable {
  return remember(`y${nameOf(scaling)}`, () => {
    if (isIdentity(scaling) || scaling.filter === 'nearest') {
      const index = indexOf(scaling)
      const rows = Int32Array.from({ length: index.length * 2 }, (_, i) => (i % 2 === 0 ? index[i >> 1] : 1))
      return { mode: DOWN.pick, bytes: new Uint8Array(rows.buffer), taps: 0, shift: 0 }
    }
    const weights = weightsFor(scaling)
    return lerps(weights) ?? blends(weights)
  })
}

/** The input pixels that a resize reads: [first, behind the last). */
export function inputsOf(scaling: Scaling): [from: number, to: number] {
  if (isIdentity(scaling)) return [scaling.from, scaling.from + scaling.count]
  if (scaling.filter === 'nearest') {
    const index = indexOf(scaling)
    return [index[0], index[index.length - 1] + 1]
  }
  const { first, count } = weightsFor(scaling)
  const last = first.length - 1
  return [first[0], first[last] + count[last]]
}

function isIdentity({ input, output }: Scaling): boolean {
  return input === output
}

function nameOf({ input, output, from, count, filter, antialias }: Scaling): string {
  return `${filter}${antialias ? 'a' : ''}${input},${output},${from},${count}`
}

function indexOf({ input, output, from, count }: Scaling): Int32Array {
  return nearestIndex(input, output).slice(from, from + count)
}

function weightsFor({ input, output, from, count, filter, antialias }: Scaling): Weights {
  return weightsOf(weigh(input, output, filter as 'bilinear' | 'bicubic', antialias), from, count)
}

/** Pixels that are moved, not weighed: mirrored, split into planes, or the nearest. */
function moves(index: Int32Array, { flip, channels, planar }: Across): AxisTable {
  if (flip) index.reverse()
  const groups = Math.ceil(index.length / 4)
  const bytes = new Uint8Array(groups * SHUFFLE_STEP)
  const view = new DataView(bytes.buffer)
  for (let g = 0; g < groups; g++) {
    const pixels = [0, 1, 2, 3].map(p => index[Math.min(g * 4 + p, index.length - 1)])
    const base = Math.min(...pixels)
    if (channels === 1 || (Math.max(...pixels) - base) * 3 + 3 > WINDOW) return picks(index, channels)
    const mask = bytes.subarray(g * SHUFFLE_STEP, g * SHUFFLE_STEP + 16).fill(NOTHING)
    for (let p = 0; p < 4; p++) {
      for (let c = 0; c < 3; c++) mask[planar ? c * 4 + p : p * 3 + c] = (pixels[p] - base) * 3 + c
    }
    view.setUint32(g * SHUFFLE_STEP + 16, base * 3, true)
  }
  return { mode: ACROSS.shuffle, bytes, taps: 0, shift: 0 }
}

function picks(index: Int32Array, channels: number): AxisTable {
  const offsets = Uint32Array.from(index, i => i * channels)
  return { mode: ACROSS.pick, bytes: new Uint8Array(offsets.buffer), taps: 0, shift: 0 }
}

/** Two neighbours each, four pixels from one window; undefined where they don't fit. */
function pairs(w: Weights, { flip, channels }: Across): AxisTable | undefined {
  if (w.taps > 2 || w.shift !== PAIR_SHIFT) return undefined
  const output = w.first.length
  const groups = Math.ceil(output / 4)
  const bytes = new Uint8Array(groups * PAIRS_STEP)
  const view = new DataView(bytes.buffer)
  for (let g = 0; g < groups; g++) {
    const at = g * PAIRS_STEP
    const start = g * 4
    const end = Math.min(start + 3, output - 1)
    // Windows go from left to right, so the first and the last pixel of a group bound it.
    const [low, high] = flip ? [output - 1 - end, output - 1 - start] : [start, end]
    const base = w.first[low]
    if ((w.first[high] + w.count[high] - base) * channels > WINDOW) return undefined
    bytes.fill(NOTHING, at, at + 16)
    for (let p = 0; p < 4; p++) {
      const i = Math.min(start + p, end)
      const x = flip ? output - 1 - i : i
      const left = (w.first[x] - base) * channels
      const both = w.count[x] > 1
      bytes[at + p * 4] = left
      bytes[at + p * 4 + 2] = both ? left + channels : left
      view.setInt16(at + 16 + p * 4, w.weights[x * w.taps], true)
      if (both) view.setInt16(at + 18 + p * 4, w.weights[x * w.taps + 1], true)
    }
    view.setUint32(at + 32, base * channels, true)
  }
  return { mode: ACROSS.pairs, bytes, taps: 2, shift: w.shift }
}

/** Any number of neighbours: offsets of all pixels, then the weights of each, filled up with zeros. */
function taps(w: Weights, { flip, channels }: Across): AxisTable {
  const output = w.first.length
  const block = channels === 3 ? 4 : 8
  const count = Math.ceil(w.taps / block) * block
  const outputs = Math.ceil(output / 4) * 4
  const bytes = new Uint8Array(outputs * 4 + outputs * count * 2)
  const bases = new Uint32Array(bytes.buffer, 0, outputs)
  const weights = new Int16Array(bytes.buffer, outputs * 4)
  for (let i = 0; i < output; i++) {
    const x = flip ? output - 1 - i : i
    bases[i] = w.first[x] * channels
    for (let n = 0; n < w.count[x]; n++) weights[i * count + n] = w.weights[x * w.taps + n]
  }
  return { mode: ACROSS.taps, bytes, taps: count, shift: w.shift }
}

/** Two rows whose weights are a mix, adding up to exactly one; undefined where they don't. */
function lerps(w: Weights): AxisTable | undefined {
  if (w.taps > 2 || w.shift !== PAIR_SHIFT) return undefined
  const table = new DownTable(w.first.length, 2)
  for (let y = 0; y < w.first.length; y++) {
    const second = w.count[y] > 1 ? w.weights[y * w.taps + 1] : 0
    if (w.weights[y * w.taps] + second !== ONE || second < 0 || second > ONE) return undefined
    // All the weight on the second row is all the weight on a first row: 32768 does not fit 16 bits.
    const moved = second === ONE
    table.rows(y, moved ? w.first[y] + 1 : w.first[y], moved ? 1 : w.count[y])
    table.weight(y, 0, moved ? 0 : second * 2)
  }
  return { mode: DOWN.lerp, bytes: table.bytes, taps: 2, shift: w.shift }
}

function blends(w: Weights): AxisTable {
  const count = Math.ceil(w.taps / 2) * 2
  const table = new DownTable(w.first.length, count)
  for (let y = 0; y < w.first.length; y++) {
    table.rows(y, w.first[y], w.count[y])
    for (let k = 0; k < w.count[y]; k++) table.weight(y, k, w.weights[y * w.taps + k])
  }
  return { mode: DOWN.blend, bytes: table.bytes, taps: count, shift: w.shift }
}

/** For each output row: first source row and number of source rows (32 bits each), then an even number of weights. */
class DownTable {
  private readonly words: Int32Array
  private readonly halves: Int16Array
  private readonly step: number // in 16-bit halves
  readonly bytes: Uint8Array

  constructor(output: number, taps: number) {
    this.step = 4 + taps
    this.halves = new Int16Array(output * this.step)
    this.words = new Int32Array(this.halves.buffer)
    this.bytes = new Uint8Array(this.halves.buffer)
  }

  rows(y: number, first: number, count: number): void {
    this.words[(y * this.step) / 2] = first
    this.words[(y * this.step) / 2 + 1] = count
  }

  weight(y: number, k: number, weight: number): void {
    this.halves[y * this.step + 4 + k] = weight
  }
}
