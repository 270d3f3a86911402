/** A column of an index whose values are made while it is written, one after the other: they are never all in memory. */
import { NUMBER_ARRAYS, type NumberColumn, type NumberType } from '../../../core/source/index/columns.js'

/** Takes a value. True: it is time to write, and the maker of values should yield. */
export type Put = (value: number) => boolean

/** Values that are written at a time. */
const CHUNK = 1 << 19

export class MadeColumn implements NumberColumn {
  constructor(
    readonly type: NumberType,
    readonly length: number,
    /** Puts all values, and yields now and then. */
    private readonly make: (put: Put) => Iterable<void>,
  ) {}

  /** The values as bytes, piece by piece. */
  *pieces(): Generator<Uint8Array> {
    const Type = NUMBER_ARRAYS[this.type]
    let chunk = new Type(2 * CHUNK)
    let used = 0
    const put = (value: number): boolean => {
      if (used === chunk.length) {
        const larger = new Type(2 * used)
        larger.set(chunk)
        chunk = larger
      }
      chunk[used++] = value
      return used >= CHUNK
    }
    for (const _ of this.make(put)) {
      yield new Uint8Array(chunk.buffer, 0, used * chunk.BYTES_PER_ELEMENT)
      used = 0
    }
    if (used > 0) yield new Uint8Array(chunk.buffer, 0, used * chunk.BYTES_PER_ELEMENT)
  }
}
