/** Values as both MDS and LitData store them: numbers, arrays, and the pixels of PIL's pictures. */
import { bytesOfStored, countOf, type StoredDtype } from '../../core/basics/array.js'
import { READERS } from '../../core/basics/element.js'
import { DecodeError } from '../../core/basics/errors.js'
import type { ArrayColumn, Column } from '../../core/source/source.js'

/** Turns a value's bytes into a column; undefined where there is none. */
export type Decoder = (bytes: Uint8Array) => Column | undefined

export const asBytes: Decoder = bytes => bytes

/** One number. Integers of 64 bits are a bigint. */
export function scalar(dtype: StoredDtype): Decoder {
  const size = bytesOfStored(dtype)
  return bytes => {
    if (bytes.length !== size)
      throw new DecodeError(`a number (${dtype}) has ${bytes.length} bytes, not ${size}`)
    return READERS[dtype](new DataView(bytes.buffer, bytes.byteOffset, size), 0)
  }
}

/** An array whose shape is known. */
export function arrayOf(dtype: StoredDtype, shape: readonly number[], data: Uint8Array): ArrayColumn {
  const bytes = countOf(shape) * bytesOfStored(dtype)
  if (data.length !== bytes)
    throw new DecodeError(`an array of ${dtype} [${shape.join(', ')}] has ${data.length} bytes, not ${bytes}`)
  return { dtype, shape, tiles: [{ data }] }
}

/** A list of elements of a known type. */
export function listOf(dtype: StoredDtype, data: Uint8Array): ArrayColumn {
  const size = bytesOfStored(dtype)
  if (data.length % size !== 0)
    throw new DecodeError(`a list of ${dtype} has ${data.length} bytes, no multiple of ${size}`)
  return { dtype, shape: [data.length / size], tiles: [{ data }] }
}

const CHANNELS: Readonly<Record<string, number>> = {
  L: 1,
  P: 1,
  RGB: 3,
  RGBA: 4,
  CMYK: 4,
  YCbCr: 3,
  LAB: 3,
  HSV: 3,
  LA: 2,
}
const WIDE: Readonly<Record<string, StoredDtype>> = { I: 'i32', F: 'f32', 'I;16': 'u16' }

/** PIL's raw pictures: width, height, length of the mode's name (u32 each), the name, the pixels. */
export const pil: Decoder = bytes => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length < 12)
    throw new DecodeError(`a raw picture of PIL has ${bytes.length} bytes, fewer than its head`)
  const [width, height, named] = [0, 4, 8].map(at => view.getUint32(at, true))
  const mode = Buffer.from(bytes.subarray(12, 12 + Math.min(named, 16))).toString('latin1')
  const pixels = bytes.subarray(12 + named)
  if (Object.hasOwn(WIDE, mode)) return arrayOf(WIDE[mode], [height, width], pixels)
  if (!Object.hasOwn(CHANNELS, mode))
    throw new DecodeError(
      `a raw picture of PIL has the mode "${mode}", which is not read: write it as RGB or L`,
    )
  const channels = CHANNELS[mode]
  return arrayOf('u8', channels === 1 ? [height, width] : [height, width, channels], pixels)
}

/** Part `item` of a list of values: `count` sizes (u32) from byte `at` on, then the values. */
export function partOf(bytes: Uint8Array, at: number, item: number): Uint8Array | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length < at)
    throw new DecodeError(`a list of values has ${bytes.length} bytes, fewer than its head`)
  const count = view.getUint32(at - 4, true)
  if (bytes.length < at + 4 * count)
    throw new DecodeError(`a list of ${count} values has only ${bytes.length} bytes`)
  if (item >= count) return undefined
  let from = at + 4 * count
  for (let i = 0; i < item; i++) from += view.getUint32(at + 4 * i, true)
  const to = from + view.getUint32(at + 4 * item, true)
  if (to > bytes.length)
    throw new DecodeError(`value ${item} of a list ends at byte ${to} of ${bytes.length}`)
  return bytes.subarray(from, to)
}
