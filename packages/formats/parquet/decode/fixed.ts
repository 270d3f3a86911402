/** Values of equal width: numbers, booleans, bytes of one length. They are decoded densely, then moved apart for nulls. */
import { DecodeError } from '../../../core/basics/errors.js'
import { putNull } from '../../../core/source/columnar/space.js'
import { nearestDecimal } from '../../shared/decimal.js'
import type { Form } from '../form.js'
import { ENCODING, encodingName } from '../names.js'
import { hybrid, readCodes } from './bits.js'
import { readDelta } from './delta.js'
import { readPrefixed } from './prefixed.js'
import { scratch } from './scratch.js'
import type { ValueSink } from './sink.js'

/** A value that is stored as it should be, and that what it becomes cannot hold: the file is not damaged. */
export class BeyondError extends DecodeError {}

/** Days from the first day of Julian dates to 1970-01-01. */
const EPOCH_DAY = 2440588n
const DAY_NS = 86_400_000_000_000n

export class FixedSink implements ValueSink {
  private dictionary: Uint8Array | undefined
  private entries = 0

  constructor(
    private readonly form: Form,
    /** The column's values, where they begin on a multiple of 8. */
    private readonly values: Uint8Array,
    /** Of decimals: digits behind the point. */
    private readonly scale = 0,
  ) {}

  target(encoding: number, to: number): Uint8Array | undefined {
    if (encoding !== ENCODING.PLAIN || this.form.change !== 'none') return undefined
    return this.values.subarray(to * this.form.width)
  }

  setDictionary(content: Uint8Array, count: number): void {
    const { width } = this.form
    // Entries have at least a bit each, so that no count asks for more than the page has.
    if (count > content.length * 8)
      throw new DecodeError(`a dictionary of ${count} entries in ${content.length} bytes`)
    this.dictionary = new Uint8Array(Math.ceil((count * width) / 8) * 8)
    this.entries = count
    this.putPlain(content, 0, content.length, count, this.dictionary, 0)
  }

  put(encoding: number, content: Uint8Array, at: number, n: number, to: number): void {
    const { form, values } = this
    switch (encoding) {
      case ENCODING.PLAIN:
        this.putPlain(content, at, content.length, n, values, to)
        return
      case ENCODING.PLAIN_DICTIONARY:
      case ENCODING.RLE_DICTIONARY:
        this.putCodes(content, at, n, to)
        return
      case ENCODING.RLE:
        if (!(form.change === 'bits')) break
        this.putRuns(content, at, n, to)
        return
      case ENCODING.DELTA_BINARY_PACKED:
        if (!this.form.isInteger) break
        this.putDelta(content, at, n, to)
        return
      case ENCODING.BYTE_STREAM_SPLIT:
        if (!(form.stored > 0)) break
        this.putSplit(content, at, n, to)
        return
      case ENCODING.DELTA_BYTE_ARRAY:
        if (!(form.stored > 0 && !this.form.isInteger)) break
        this.putPrefixed(content, at, n, to)
        return
    }
    throw new DecodeError(
      `its encoding is ${encodingName(encoding)}, which is not read for values of this type`,
    )
  }

  spread(to: number, count: number, n: number, levels: Uint8Array, most: number): void {
    const { values, form } = this
    const { width, items } = form
    const isNumber = items !== 'bytes' && items !== 'text'
    const words = width === 4 ? wordsOf(values) : undefined
    let from = n
    for (let i = count - 1; i >= 0 && from <= i; i--) {
      if (levels[i] !== most) {
        if (isNumber) putNull(values, items, to + i)
        continue
      }
      from--
      if (words !== undefined) words[to + i] = words[to + from]
      else values.copyWithin((to + i) * width, (to + from) * width, (to + from + 1) * width)
    }
  }

  finish(): void {}

  /** Values as PLAIN has them, from a byte of `content` on, into `out`. */
  private putPlain(
    content: Uint8Array,
    at: number,
    end: number,
    n: number,
    out: Uint8Array,
    to: number,
  ): void {
    const { stored, change, width } = this.form
    const bytes = change === 'bits' ? Math.ceil(n / 8) : n * stored
    if (bytes > end - at)
      throw new DecodeError(`${n} values take ${bytes} bytes, and the page has ${end - at} for them`)
    if (change === 'none') {
      const isThere = content.buffer === out.buffer && content.byteOffset + at === out.byteOffset + to * width
      if (!isThere) out.set(content.subarray(at, at + bytes), to * width)
    } else if (change === 'bits') {
      for (let i = 0; i < n; i++) out[to + i] = (content[at + (i >> 3)] >> (i & 7)) & 1
    } else this.change(content.subarray(at, at + bytes), n, out, to)
  }

  /** Values that lie densely as they are stored, changed. */
  private change(stored: Uint8Array, n: number, out: Uint8Array, to: number): void {
    const { change, items, stored: size } = this.form
    const view = new DataView(stored.buffer, stored.byteOffset, stored.length)
    if (change === 'none') out.set(stored, to * size)
    else if (change === 'narrow' && (items === 'u8' || items === 'i8')) {
      for (let i = 0; i < n; i++) out[to + i] = stored[4 * i]
    } else if (change === 'narrow') {
      for (let i = 0; i < n; i++) {
        out[2 * (to + i)] = stored[4 * i]
        out[2 * (to + i) + 1] = stored[4 * i + 1]
      }
    } else if (change === 'int96') {
      const times = new DataView(out.buffer, out.byteOffset)
      for (let i = 0; i < n; i++) {
        const day = BigInt(view.getUint32(12 * i + 8, true)) - EPOCH_DAY
        const time = day * DAY_NS + view.getBigInt64(12 * i, true)
        if (BigInt.asIntN(64, time) !== time)
          throw new BeyondError(
            `value ${i} is a time before 1677 or after 2262, which 64 bits of nanoseconds do not hold: write the file again with timestamps of µs`,
          )
        times.setBigInt64(8 * (to + i), time, true)
      }
    } else {
      const floats = new DataView(out.buffer, out.byteOffset)
      for (let i = 0; i < n; i++)
        floats.setFloat64(
          8 * (to + i),
          nearestDecimal(unscaled(view, i * size, size, this.form.isInteger), this.scale),
          true,
        )
    }
  }

  private putCodes(content: Uint8Array, at: number, n: number, to: number): void {
    if (n === 0) return
    const { dictionary: entries, values } = this
    const { width } = this.form
    if (entries === undefined)
      throw new DecodeError('it has codes of a dictionary, and the column chunk has none')
    if (at >= content.length) throw new DecodeError('its codes are missing')
    const codes = scratch.codes.words(n)
    readCodes(content, at + 1, content.length, content[at], n, codes, 0)
    if (hybrid.greatest >= this.entries)
      throw new DecodeError(`it has the code ${hybrid.greatest}, and the dictionary ${this.entries} entries`)
    if (width === 4 || width === 8) {
      const from = new Uint32Array(entries.buffer)
      const out = wordsOf(values)
      if (width === 4) for (let i = 0; i < n; i++) out[to + i] = from[codes[i]]
      else
        for (let i = 0, o = 2 * to; i < n; i++, o += 2) {
          const code = 2 * codes[i]
          out[o] = from[code]
          out[o + 1] = from[code + 1]
        }
    } else {
      for (let i = 0, o = to * width; i < n; i++)
        for (let k = codes[i] * width, end = k + width; k < end; k++) values[o++] = entries[k]
    }
  }

  /** Booleans as runs, behind the length of them all. */
  private putRuns(content: Uint8Array, at: number, n: number, to: number): void {
    const codes = scratch.codes.words(n)
    readCodes(content, at + 4, content.length, 1, n, codes, 0)
    for (let i = 0; i < n; i++) this.values[to + i] = codes[i]
  }

  private putDelta(content: Uint8Array, at: number, n: number, to: number): void {
    const { stored, change } = this.form
    const words = stored === 8 ? 2 : 1
    const room = change === 'none' ? undefined : scratch.values.words(n * words)
    const { values } = this
    const out = room ?? wordsOf(values)
    readDelta(content, at, content.length, words, out, room ? 0 : to, n)
    if (room) this.change(new Uint8Array(room.buffer, 0, n * stored), n, values, to)
  }

  /** The first bytes of all values, then the second ones, and so on. */
  private putSplit(content: Uint8Array, at: number, n: number, to: number): void {
    const { stored, change } = this.form
    if (n * stored > content.length - at)
      throw new DecodeError(
        `${n} values take ${n * stored} bytes, and the page has ${content.length - at} for them`,
      )
    const out = change === 'none' ? this.values : scratch.values.bytes(n * stored)
    const first = change === 'none' ? to * stored : 0
    for (let k = 0; k < stored; k++) {
      const from = at + k * n
      for (let i = 0, o = first + k; i < n; i++, o += stored) out[o] = content[from + i]
    }
    if (change !== 'none') this.change(out.subarray(0, n * stored), n, this.values, to)
  }

  private putPrefixed(content: Uint8Array, at: number, n: number, to: number): void {
    const { stored, change } = this.form
    const bytes = scratch.values.bytes(n * stored)
    const out = change === 'none' ? this.values : bytes
    const first = change === 'none' ? to * stored : 0
    readPrefixed(content, at, n, out, first, first + n * stored, 0, (i, end) => {
      if (end !== first + (i + 1) * stored) throw new DecodeError(`value ${i} has not ${stored} bytes`)
    })
    if (change !== 'none') this.change(bytes, n, this.values, to)
  }
}

function wordsOf(values: Uint8Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length >> 2)
}

/** An integer of up to 32 bytes: little-endian where it is an INT32 or INT64, else big-endian. */
function unscaled(view: DataView, at: number, size: number, little: boolean): number | bigint {
  if (little) return size === 4 ? view.getInt32(at, true) : view.getBigInt64(at, true)
  if (size <= 6) {
    let value = view.getInt8(at)
    for (let i = 1; i < size; i++) value = value * 256 + view.getUint8(at + i)
    return value
  }
  let value = BigInt(view.getInt8(at))
  for (let i = 1; i < size; i++) value = (value << 8n) | BigInt(view.getUint8(at + i))
  return value
}
