/**
 * The segments of a row: what belongs to one document, and the padding at its end. Attention stays within a segment.
 *
 *   places     0 1 2 3 4 5 6 7      length 8
 *   documents  a a a b b b · ·
 *   starts     0, 3, 6              padding is a segment of its own
 *   positions  0 1 2 0 1 2 0 1
 *   numbers    1 1 1 2 2 2 0 0
 */
import { DecodeError } from '../../../core/basics/errors.js'

export class Segments {
  constructor(
    /** First place of each segment, in the first `count` entries. */
    private readonly starts: Int32Array,
    readonly count: number,
    /** Places that are no padding, and all of them. */
    private readonly filled: number,
    private readonly length: number,
  ) {}

  positions(): Int32Array {
    const out = new Int32Array(this.length)
    for (let i = 0; i < this.count; i++) {
      const start = this.starts[i]
      for (let at = start; at < this.end(i); at++) out[at] = at - start
    }
    return out
  }

  numbers(): Int32Array {
    const out = new Int32Array(this.length)
    for (let i = 0; i < this.count; i++)
      if (this.starts[i] < this.filled) out.fill(i + 1, this.starts[i], this.end(i))
    return out
  }

  /** The starts, and `length` in all places behind them. */
  borders(places: number): Int32Array {
    this.check(places)
    const out = new Int32Array(places).fill(this.length)
    out.set(this.starts.subarray(0, this.count))
    return out
  }

  /** The lengths of segments that are no padding, and 0 behind them. */
  lengths(places: number): Int32Array {
    this.check(places)
    const out = new Int32Array(places)
    for (let i = 0; i < this.count; i++)
      if (this.starts[i] < this.filled) out[i] = this.end(i) - this.starts[i]
    return out
  }

  longest(): number {
    let most = 0
    for (let i = 0; i < this.count; i++) most = Math.max(most, this.end(i) - this.starts[i])
    return most
  }

  private end(i: number): number {
    return i + 1 < this.count ? this.starts[i + 1] : this.length
  }

  private check(places: number): void {
    if (this.count > places)
      throw new DecodeError(
        `the row has ${this.count} segments, and there is room for ${places}: raise "capacity" of the source, or leave it out`,
      )
  }
}
