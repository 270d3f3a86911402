/** What the encodings of MDS mean: how the bytes of a column become a value. Pickles are never read. */
import type { StoredDtype } from '../../core/basics/array.js'
import { DecodeError, SeveralError } from '../../core/basics/errors.js'
import type { Column } from '../../core/source/source.js'
import { arrayOf, asBytes, type Decoder, listOf, partOf, pil, scalar } from '../shards/values.js'

/** A column of MDS. */
export interface MdsColumn {
  name: string
  encoding: string
  /** Bytes of each value; 0: they vary, and a sample tells them. */
  size: number
}

const DTYPES: Readonly<Record<string, StoredDtype>> = {
  uint8: 'u8',
  int8: 'i8',
  uint16: 'u16',
  int16: 'i16',
  float16: 'f16',
  uint32: 'u32',
  int32: 'i32',
  float32: 'f32',
  uint64: 'u64',
  int64: 'i64',
  float64: 'f64',
}

/** In an array that tells its own type, by this number. */
const CODES: Readonly<Record<number, string>> = {
  8: 'uint8',
  9: 'int8',
  16: 'uint16',
  17: 'int16',
  18: 'float16',
  32: 'uint32',
  33: 'int32',
  34: 'float32',
  64: 'uint64',
  65: 'int64',
  66: 'float64',
}

/** Encodings whose bytes are the value: pictures, text, JSON, numbers in digits. */
const AS_THEY_ARE = ['bytes', 'str', 'jpeg', 'png', 'json', 'str_int', 'str_float', 'str_decimal']
/** Lists of values: how many bytes stand before their sizes, and what each of them is. */
const LISTS: Readonly<Record<string, { head: number; decode: Decoder }>> = {
  jpeg_array: { head: 4, decode: asBytes },
  jpegarray: { head: 4, decode: asBytes },
  'list[jpeg]': { head: 8, decode: asBytes },
  'list[png]': { head: 8, decode: asBytes },
  'list[pil]': { head: 8, decode: pil },
}

/** Why a column can't be read; undefined when it can. */
export function refusal({ name, encoding }: MdsColumn): string | undefined {
  if (encoding !== 'pkl') return undefined
  return (
    `column "${name}" holds Python pickles, which run code when they are read: Millrace never decodes them; ` +
    'write the values as json, ndarray or bytes'
  )
}

/** How a column is read; with `item`, one value of its lists. */
export function decoderOf(column: MdsColumn, item?: number): Decoder {
  const { name, encoding, size } = column
  const refused = refusal(column)
  if (refused !== undefined) throw new DecodeError(refused)
  if (Object.hasOwn(LISTS, encoding)) return listDecoder(name, LISTS[encoding], item)
  if (item !== undefined) return () => undefined
  if (AS_THEY_ARE.includes(encoding)) return asBytes
  if (encoding === 'pil') return pil
  if (encoding === 'int' && size === 8) return scalar('i64')
  if (encoding === 'ndarray' || encoding.startsWith('ndarray:')) return arrayDecoder(encoding)
  if (!Object.hasOwn(DTYPES, encoding)) return asBytes // an encoding of the writer's own: the field says what it is
  // A number whose size varies is no number: such columns are written by encodings of users', as lists.
  const dtype = DTYPES[encoding]
  return size === 0 ? bytes => listOf(dtype, bytes) : scalar(dtype)
}

function listDecoder(
  name: string,
  { head, decode }: { head: number; decode: Decoder },
  item?: number,
): Decoder {
  return bytes => {
    if (item === undefined)
      throw new SeveralError(
        name,
        `column "${name}" holds lists: ask for one of their values, as "${name}[0]"`,
      )
    const part = partOf(bytes, head, item)
    return part && decode(part)
  }
}

/** `ndarray`, `ndarray:dtype`, `ndarray:dtype:shape`. */
function arrayDecoder(encoding: string): Decoder {
  const [, type, dims] = encoding.split(':')
  const dtype = type === undefined || type === '' ? undefined : dtypeOf(type)
  const shape = dims === undefined ? undefined : dims.split(',').map(Number)
  if (shape?.some(n => !Number.isSafeInteger(n) || n < 0))
    throw new DecodeError(`"${encoding}" is no encoding of an array`)
  return bytes => arrayIn(bytes, dtype, shape)
}

function dtypeOf(name: string): StoredDtype {
  if (Object.hasOwn(DTYPES, name)) return DTYPES[name]
  throw new DecodeError(`an array of "${name}": types are ${Object.keys(DTYPES).join(', ')}`)
}

/** An array that tells its own type or shape. */
function arrayIn(bytes: Uint8Array, known?: StoredDtype, shape?: readonly number[]): Column {
  let at = 0
  let dtype = known
  if (dtype === undefined) {
    const name = CODES[bytes[at++]]
    if (name === undefined) throw new DecodeError(`an array of the type ${bytes[0]}, which is none of MDS's`)
    dtype = DTYPES[name]
  }
  if (shape !== undefined) return arrayOf(dtype, shape, bytes.subarray(at))
  const head = bytes[at++]
  const width = 1 << (head & 3)
  const end = at + (head >> 2) * width
  if (!(end <= bytes.length)) throw new DecodeError(`an array has ${bytes.length} bytes, fewer than its head`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const dims: number[] = []
  for (; at < end; at += width) {
    if (width === 1) dims.push(view.getUint8(at))
    else if (width === 2) dims.push(view.getUint16(at, true))
    else if (width === 4) dims.push(view.getUint32(at, true))
    else dims.push(Number(view.getBigUint64(at, true)))
  }
  return arrayOf(dtype, dims, bytes.subarray(end))
}
