/** What the serializers of LitData write: how the bytes of a leaf become a value. Pickles are never read. */
import type { StoredDtype } from '../../core/basics/array.js'
import { DecodeError, SeveralError } from '../../core/basics/errors.js'
import { arrayOf, asBytes, type Decoder, listOf, partOf, pil, scalar } from '../shards/values.js'

/** PyTorch's types by LitData's numbers; some have two. Complex numbers have none here. */
const TORCH: readonly (StoredDtype | undefined)[] = [
  'f32',
  'f32',
  'f64',
  'f64',
  undefined,
  undefined,
  undefined,
  undefined,
  'f16',
  'f16',
  'bf16',
  'u8',
  'i8',
  'i16',
  'i16',
  'i32',
  'i32',
  'i64',
  'i64',
  'bool',
  'u16',
]
/** NumPy's types by LitData's numbers. */
const NUMPY: readonly (StoredDtype | undefined)[] = [
  'i8',
  'i16',
  'i32',
  'i64',
  'u8',
  'u16',
  'u32',
  'u64',
  'f16',
  'f32',
  'f64',
  undefined,
  undefined,
  'bool',
]
/** Axes that an array may have: more are a damaged head. */
const MOST_AXES = 32

/** Leaves whose bytes are the value. */
const AS_THEY_ARE = [
  'bytes',
  'str',
  'text',
  'jpeg',
  'image',
  'file',
  'video',
  'audio',
  'tiff',
  'tifffile',
  'nifti',
  'mesh',
  'pdf',
]

/** What a leaf is, from its entry in `data_format`: `no_header_tensor:18`. */
function kindOf(format: string): { kind: string; detail: string } {
  const [kind, ...rest] = format.split(':')
  return { kind, detail: rest.join(':') }
}

/** Why a leaf can't be read; undefined when it can. */
export function refusal(name: string, format: string): string | undefined {
  const { kind, detail } = kindOf(format)
  if (kind === 'pickle' || detail === 'pickle') {
    return (
      `leaf "${name}" holds Python pickles, which run code when they are read: Millrace never decodes them; ` +
      'write the values as tensors, numbers, texts or bytes'
    )
  }
  if (['graph', 'json'].includes(kind))
    return `leaf "${name}" is of the kind "${format}", which only LitData reads: write it as tensors, texts or bytes`
  return undefined
}

/** The type of the tokens of a chunk without heads; undefined where it is another kind of leaf. */
export function tokenDtype(format: string): StoredDtype | undefined {
  const { kind, detail } = kindOf(format)
  if (kind === 'no_header_tensor') return TORCH[Number(detail)]
  return kind === 'no_header_numpy' ? NUMPY[Number(detail)] : undefined
}

/** What `inspect` calls it. */
export function typeOf(format: string): string {
  const dtype = tokenDtype(format)
  return dtype === undefined ? format : `list<${dtype}>`
}

/** How a leaf is read. An unknown kind is the serializer of a user: its bytes are given as they are. */
export function decoderOf(name: string, format: string): Decoder {
  const refused = refusal(name, format)
  if (refused !== undefined) throw new DecodeError(refused)
  const { kind } = kindOf(format)
  if (AS_THEY_ARE.includes(kind)) return asBytes
  if (kind === 'int') return scalar('i64')
  if (kind === 'float') return scalar('f64')
  if (kind === 'bool' || kind === 'boolean') return scalar('u8')
  if (kind === 'pil') return pil
  if (kind === 'tensor') return bytes => headed(bytes, TORCH, true)
  if (kind === 'numpy') return bytes => headed(bytes, NUMPY, false)
  if (kind === 'jpeg_array') return bytes => single(name, bytes)
  if (kind !== 'no_header_tensor' && kind !== 'no_header_numpy') return asBytes
  const dtype = tokenDtype(format)
  if (dtype === undefined) throw new DecodeError(`leaf "${name}" has the type ${format}, which is not read`)
  return bytes => listOf(dtype, bytes)
}

/** A list of pictures is read where it has one. */
function single(name: string, bytes: Uint8Array): Uint8Array | undefined {
  if (partOf(bytes, 4, 1) !== undefined)
    throw new SeveralError(
      name,
      `leaf "${name}" holds several pictures in a sample: only one can be read; write each as a leaf`,
    )
  return partOf(bytes, 4, 0)
}

/**
 * An array with a head: its type, its axes, the size of each (u32). Tensors have a big-endian one since version 0.2.57, and
 * nothing tells which: it is the order in which the sizes fit the bytes.
 */
function headed(
  bytes: Uint8Array,
  types: readonly (StoredDtype | undefined)[],
  either: boolean,
): ReturnType<Decoder> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (const little of either ? [false, true] : [true]) {
    if (bytes.length < 8) break
    const dtype = types[view.getUint32(0, little)]
    const axes = view.getUint32(4, little)
    if (dtype === undefined || axes > MOST_AXES || bytes.length < 8 + 4 * axes) continue
    const shape = Array.from({ length: axes }, (_, i) => view.getUint32(8 + 4 * i, little))
    return arrayOf(dtype, shape, bytes.subarray(8 + 4 * axes))
  }
  throw new DecodeError(
    `an array of ${bytes.length} bytes has a head that is none of LitData's, or of a type that is not read`,
  )
}
