/**
 * NumPy's .npy: a magic, a version, a Python dict as text, then the elements.
 *
 *   93 'NUMPY'  major minor  length (u16 in version 1, u32 in 2 and 3)  "{'descr': '<f4', …}\n"  elements
 *
 * Nothing is unpickled, and nothing is allocated beyond the size of the input.
 */
import { bytesOfStored, countOf, type StoredDtype, type Tile, type TiledArray } from '../../basics/array.js'
import { DecodeError } from '../../basics/errors.js'
import { parseNpyHeader } from '../../basics/npy/header-text.js'
import { type PlainArray, plainArray } from './plain-array.js'

/** NumPy's kind and size, to our name. */
const DTYPES: Readonly<Record<string, StoredDtype>> = {
  u1: 'u8',
  i1: 'i8',
  b1: 'bool',
  u2: 'u16',
  i2: 'i16',
  u4: 'u32',
  i4: 'i32',
  i8: 'i64',
  u8: 'u64',
  f2: 'f16',
  f4: 'f32',
  f8: 'f64',
}

/** Bytes before the header's text: magic and version, then its length. */
const PREFIX = 8
/** Bytes of the header's text that are read: NumPy's own limit (`max_header_size`). */
const MOST_TEXT = 10_000
/** Bytes before the elements, at most. */
export const MOST_HEADER = PREFIX + 4 + MOST_TEXT

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] // 93 "NUMPY"

export function isNpy(bytes: Uint8Array): boolean {
  return bytes[0] === MAGIC[0] && MAGIC.every((byte, i) => bytes[i] === byte)
}

/** The array of a .npy file, as it lies there: in its own order of bytes and of axes. */
export function openNpy(bytes: Uint8Array): TiledArray<Uint8Array> {
  if (!isNpy(bytes)) throw new DecodeError('is not an npy array: it does not start with "\\x93NUMPY"')
  const { text, start } = readHeader(bytes)
  const { descr, fortran, shape } = parseNpyHeader(text)
  const { dtype, swapped } = readType(descr)
  const size = bytesOfStored(dtype)

  const room = bytes.length - start
  const elements = countOf(shape)
  if (elements * size > room) {
    throw new DecodeError(
      `npy array of shape (${shape.join(', ')}) needs ${elements * size} bytes, but there are ${room}: it is cut off`,
    )
  }
  const tile: Tile<Uint8Array> = { data: bytes.subarray(start, start + elements * size) }
  if (swapped && size > 1) tile.bigEndian = true
  if (fortran && shape.length > 1) tile.strides = fortranStrides(shape, size)
  return { dtype, shape, tiles: [tile] }
}

/** The same, little-endian and in C order; a view of the input where that is possible. */
export function decodeNpy(bytes: Uint8Array): PlainArray {
  return plainArray(openNpy(bytes))
}

/** The first axis varies fastest. */
function fortranStrides(shape: readonly number[], size: number): number[] {
  let bytes = size
  return shape.map(n => {
    const stride = bytes
    bytes *= n
    return stride
  })
}

function readHeader(bytes: Uint8Array): { text: string; start: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const major = bytes[6]
  if (bytes.length > 6 && (major < 1 || major > 3)) {
    throw new DecodeError(`npy has format version ${major}: only 1, 2 and 3 are known`)
  }
  const lengthBytes = major === 1 ? 2 : 4
  const from = PREFIX + lengthBytes
  const length =
    bytes.length < from ? Infinity : major === 1 ? view.getUint16(PREFIX, true) : view.getUint32(PREFIX, true)
  if (length !== Infinity && length > MOST_TEXT) {
    throw new DecodeError(
      `npy header has ${length} bytes, more than ${MOST_TEXT}, which is NumPy's limit too: it is damaged, or made to do harm`,
    )
  }
  const start = from + length
  if (start > bytes.length) {
    throw new DecodeError(`npy is cut off within its header, after ${bytes.length} bytes`)
  }
  return { text: Buffer.from(bytes.subarray(from, start)).toString('latin1'), start }
}

function readType(descr: string): { dtype: StoredDtype; swapped: boolean } {
  if (descr.includes('O')) {
    throw new DecodeError('npy array holds pickled Python objects, which are never loaded: save numbers')
  }
  const parts = /^([<>|=]?)([a-zA-Z])(\d+)$/.exec(descr)
  if (parts === null || !Object.hasOwn(DTYPES, parts[2] + parts[3])) {
    throw new DecodeError(
      `npy array has elements of type "${descr.slice(0, 60)}": only bool, integers and floats up to 64 bits can be fed`,
    )
  }
  return { dtype: DTYPES[parts[2] + parts[3]], swapped: parts[1] === '>' }
}
