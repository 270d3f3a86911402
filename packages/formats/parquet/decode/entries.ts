/**
 * The entries of a dictionary that items use. A column of categories has all of them in the dictionary of every row group,
 * also those that none of its rows has: there may be more than the column has items, and than it has room for in the cache.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { ColumnSpace } from '../../../core/source/columnar/space.js'
import { GAP } from '../form.js'

export class UsedEntries {
  /** The new number of each entry; below 0: it is not used yet. */
  private readonly numbers: Int32Array

  constructor(
    private readonly texts: Uint8Array,
    /** Where each entry begins, its gap included, and the end of the last one. */
    private readonly ends: Uint32Array,
  ) {
    this.numbers = new Int32Array(ends.length - 1).fill(-1)
  }

  /** Gives codes from…to−1 new numbers, and writes entries that are new behind the `count` that are there. Returns how many there are then. */
  renumber({ codes, values, valueOffsets }: ColumnSpace, from: number, to: number, count: number): number {
    const { texts, ends, numbers } = this
    let entries = count
    for (let i = from; i < to; i++) {
      const code = codes[i]
      if (numbers[code] < 0) {
        const at = valueOffsets[entries]
        const length = ends[code + 1] - ends[code]
        if (entries + 1 >= valueOffsets.length || length > values.length - at)
          throw new DecodeError('its values are more than the footer announces')
        values.set(texts.subarray(ends[code], ends[code + 1]), at)
        valueOffsets[entries + 1] = at + length
        numbers[code] = entries++
      }
      codes[i] = numbers[code]
    }
    return entries
  }
}

/** Where the entries of a dictionary begin, and the end of the last one: each stands behind its length. */
export function endsOf(content: Uint8Array, count: number): Uint32Array {
  if (GAP * count > content.length)
    throw new DecodeError(`a dictionary of ${count} entries in ${content.length} bytes`)
  const ends = new Uint32Array(count + 1)
  const view = new DataView(content.buffer, content.byteOffset, content.length)
  let end = 0
  for (let i = 0; i < count; i++) {
    if (end + GAP > content.length) throw new DecodeError(`it ends before value ${i} of ${count}`)
    end += GAP + view.getUint32(end, true)
    if (end > content.length) throw new DecodeError(`value ${i} of ${count} reaches beyond the page`)
    ends[i + 1] = end
  }
  return ends
}
