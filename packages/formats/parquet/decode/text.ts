/** Values of varying length: texts and bytes. With a dictionary the items are codes; values beside it become more entries. */

import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../../../core/basics/errors.js'
import { WORDS } from '../../../core/source/columnar/room.js'
import type { ColumnSpace } from '../../../core/source/columnar/space.js'
import { GAP } from '../form.js'
import { ENCODING, encodingName } from '../names.js'
import { hybrid, readCodes } from './bits.js'
import { readLengths, readPrefixed } from './prefixed.js'
import type { ValueSink } from './sink.js'

export class TextSink implements ValueSink {
  /** Bytes that are written. */
  private end = 0
  /** Entries that are written: of the dictionary, and of pages beside it. */
  private entries = 0
  private dictionary = 0
  /** Set where the dictionary has entries that no item uses, and there is no room for all. */
  private used: UsedEntries | undefined

  constructor(
    private readonly space: ColumnSpace,
    private readonly isCoded: boolean,
    /** Its values should be UTF-8. */
    private readonly isText: boolean,
  ) {}

  /** Gaps are zeros, which end any character that is cut off: if all bytes are UTF-8, so is each value. */
  finish(): void {
    if (this.isText && isUtf8(this.space.values.subarray(0, this.end))) this.space.header[WORDS.utf8] = 1
  }

  target(encoding: number): Uint8Array | undefined {
    return encoding === ENCODING.PLAIN ? this.space.values.subarray(this.end) : undefined
  }

  setDictionary(content: Uint8Array, count: number): void {
    if (!this.isCoded || this.dictionary > 0 || this.entries > 0)
      throw new DecodeError('there is a dictionary where the footer announces none, or a second one')
    if (count < this.space.valueOffsets.length) {
      this.appendPlain(content, 0, count, 0)
      this.entries = count
    } else this.used = new UsedEntries(content.slice(), endsOf(content, count))
    this.dictionary = count
  }

  put(encoding: number, content: Uint8Array, at: number, n: number, to: number): void {
    if (encoding === ENCODING.PLAIN_DICTIONARY || encoding === ENCODING.RLE_DICTIONARY) {
      this.putCodes(content, at, n, to)
      return
    }
    const { length } = this.space.valueOffsets
    if (this.dictionary > 0 && this.used === undefined && this.entries + n >= length) this.keepUsed(to)
    const first = this.isCoded ? this.entries : to
    if (first + n >= length)
      throw new DecodeError(`it has ${n} values where the footer announces ${length - 1 - first}`)
    if (encoding === ENCODING.PLAIN) this.appendPlain(content, at, n, first)
    else this.appendDelta(encoding, content, at, n, first)
    if (!this.isCoded) return
    const { codes } = this.space
    for (let i = 0; i < n; i++) codes[to + i] = first + i
    this.entries += n
  }

  spread(to: number, count: number, n: number, levels: Uint8Array, most: number): void {
    let from = n
    if (this.isCoded) {
      const { codes } = this.space
      for (let i = count - 1; i >= 0 && from <= i; i--)
        codes[to + i] = levels[i] === most ? codes[to + --from] : 0
      return
    }
    const { valueOffsets: offsets } = this.space
    for (let i = count - 1; i >= 0; i--) {
      offsets[to + i + 1] = offsets[to + from]
      if (levels[i] === most) from--
    }
  }

  private putCodes(content: Uint8Array, at: number, n: number, to: number): void {
    if (n === 0) return
    if (this.dictionary === 0)
      throw new DecodeError('it has codes of a dictionary, and the column chunk has none')
    if (at >= content.length) throw new DecodeError('its codes are missing')
    readCodes(content, at + 1, content.length, content[at], n, this.space.codes, to)
    if (hybrid.greatest >= this.dictionary)
      throw new DecodeError(
        `it has the code ${hybrid.greatest}, and the dictionary ${this.dictionary} entries`,
      )
    if (this.used !== undefined) this.renumber(this.used, to, to + n)
  }

  /** Leaves out the entries that none of the items before `to` uses. Later items bring theirs in again. */
  private keepUsed(to: number): void {
    const { values, valueOffsets: ends } = this.space
    this.used = new UsedEntries(values.slice(0, this.end), ends.slice(0, this.entries + 1))
    this.end = this.entries = 0
    this.renumber(this.used, 0, to)
  }

  private renumber(used: UsedEntries, from: number, to: number): void {
    this.entries = used.renumber(this.space, from, to, this.entries)
    this.end = this.space.valueOffsets[this.entries]
  }

  /** Values behind their lengths, which are copied along: where they are not there already, in one copy. */
  private appendPlain(content: Uint8Array, at: number, n: number, first: number): void {
    const { values, valueOffsets: offsets } = this.space
    const length = content.length - at
    if (length > values.length - this.end || first + n >= offsets.length)
      throw new DecodeError(`its ${n} values, ${length} bytes, are more than the footer announces`)
    const isThere =
      content.buffer === values.buffer && content.byteOffset + at === values.byteOffset + this.end
    if (!isThere) values.set(at === 0 ? content : content.subarray(at), this.end)
    const limit = this.end + length
    let end = this.end
    for (let i = 0; i < n; i++) {
      if (end + GAP > limit) throw new DecodeError(`it ends before value ${i} of ${n}`)
      const bytes =
        (values[end] | (values[end + 1] << 8) | (values[end + 2] << 16) | (values[end + 3] << 24)) >>> 0
      values[end] = values[end + 1] = values[end + 2] = values[end + 3] = 0
      end += GAP + bytes
      if (end > limit) throw new DecodeError(`value ${i} of ${n} reaches beyond the page`)
      offsets[first + i + 1] = end
    }
    this.end = end
  }

  private appendDelta(encoding: number, content: Uint8Array, at: number, n: number, first: number): void {
    const { values, valueOffsets: offsets } = this.space
    const ended = (i: number, end: number): void => {
      offsets[first + i + 1] = end
      this.end = end
    }
    if (encoding === ENCODING.DELTA_LENGTH_BYTE_ARRAY)
      readLengths(content, at, n, values, this.end, values.length, GAP, ended)
    else if (encoding === ENCODING.DELTA_BYTE_ARRAY)
      readPrefixed(content, at, n, values, this.end, values.length, GAP, ended)
    else throw new DecodeError(`its encoding is ${encodingName(encoding)}, which is not read for texts`)
  }
}

/**
 * The entries of a dictionary that items use. A column of categories has all of them in the dictionary of every row group,
 * also those that none of its rows has: there may be more than the column has items, and than it has room for in the cache.
 */

class UsedEntries {
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
function endsOf(content: Uint8Array, count: number): Uint32Array {
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
