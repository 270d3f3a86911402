/** Where the chunks of a dataset lie: a table by the chunk's number in the grid, in C order, that all kinds of indexes fill. */
import type { Hdf5Bytes } from '../structure/bytes.js'

/** How many chunks cover a dataset. */
export function chunkCount(dims: readonly number[], chunk: readonly number[]): number {
  return dims.reduce((product, n, i) => product * Math.ceil(n / chunk[i]), 1)
}

export class ChunkGrid {
  /** Chunks along each axis, now, and where the dataset may grow. */
  readonly sides: readonly number[]
  readonly count: number
  /** The offset in the file of each chunk; 0: it was never written. */
  readonly offsets: Float64Array
  readonly bytes: Float64Array
  /** Bit i: filter i was left out. */
  readonly masks: Uint32Array

  constructor(
    readonly file: Hdf5Bytes,
    /** The address of the dataset, for messages. */
    readonly address: number,
    readonly dims: readonly number[],
    /** What the axes may grow to: indexes without keys number the chunks by it. */
    readonly most: readonly number[],
    readonly chunk: readonly number[],
    /** Bytes of a chunk that went through no filter. */
    readonly chunkBytes: number,
    /** Whether chunks go through filters, and so have sizes of their own. */
    readonly filtered: boolean,
  ) {
    this.sides = dims.map((n, i) => Math.ceil(n / chunk[i]))
    this.count = chunkCount(dims, chunk)
    this.offsets = new Float64Array(this.count)
    this.bytes = new Float64Array(this.count)
    this.masks = new Uint32Array(this.count)
  }

  /** A chunk by its number in the grid. */
  put(number: number, address: number, bytes: number, mask: number): void {
    if (bytes > 0xffffffff) throw this.file.fault(`a chunk has ${bytes} bytes`, address)
    this.offsets[number] = this.file.offsetOf(address, bytes)
    this.bytes[number] = bytes
    this.masks[number] = mask
  }

  /** A chunk by its place along each axis, in chunks. */
  putAt(place: ArrayLike<number>, address: number, bytes: number, mask: number): void {
    const { sides } = this
    let number = 0
    for (let i = 0; i < sides.length; i++) {
      if (place[i] >= sides[i])
        throw this.file.fault(`a chunk lies outside of its dataset of shape [${this.dims}]`, address)
      number = number * sides[i] + place[i]
    }
    this.put(number, address, bytes, mask)
  }

  /**
   * What an index without keys calls its i-th chunk, as a number in this grid; −1: one that is beyond the dataset's end. `first`:
   * the axis without a limit, which such an index puts first.
   */
  numbering(first = 0): (i: number) => number {
    const rank = this.sides.length
    const order = [first, ...Array.from({ length: rank }, (_, axis) => axis).filter(axis => axis !== first)]
    const sides = order.map(axis => Math.ceil(this.most[axis] / this.chunk[axis]))
    const strides = new Array<number>(rank).fill(1)
    for (let axis = rank - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1] * this.sides[axis + 1]
    const same = order.every((axis, i) => axis === i) && sides.every((n, i) => i === 0 || n === this.sides[i])
    if (same) return i => (i < this.count ? i : -1)
    return i => {
      let rest = i
      let number = 0
      for (let k = rank - 1; k > 0; k--) {
        const place = rest % sides[k]
        rest = Math.floor(rest / sides[k])
        if (place >= this.sides[order[k]]) return -1
        number += place * strides[order[k]]
      }
      return rest >= this.sides[first] ? -1 : number + rest * strides[first]
    }
  }
}
