/** The type of an array's elements: as Zarr 2 and 3 write it, and what becomes of it. */
import { bytesOfStored, type StoredDtype } from '../../../core/basics/array.js'
import { ZarrFault } from './fault.js'

/** How an element lies in a chunk. */
export interface Element {
  /**
   *   number   one of the engine's types
   *   complex  two of them, one behind the other: they become another axis, of two
   *   ascii    text of so many bytes, filled up with zeros; `utf32`: of four bytes a character
   *   vlen     text or bytes of any length: a chunk is no array of equal elements (vlen.ts)
   */
  form: 'number' | 'complex' | 'ascii' | 'utf32' | 'vlen-text' | 'vlen-bytes'
  /** Of numbers, and of both parts of a complex one. */
  dtype: StoredDtype
  /** Bytes of one element; 0 where they vary. */
  bytes: number
  bigEndian: boolean
}

const KINDS: Readonly<Record<string, StoredDtype>> = {
  b1: 'bool',
  u1: 'u8',
  u2: 'u16',
  u4: 'u32',
  u8: 'u64',
  i1: 'i8',
  i2: 'i16',
  i4: 'i32',
  i8: 'i64',
  f2: 'f16',
  f4: 'f32',
  f8: 'f64',
  // Dates and durations are counted in units that the metadata names: integers here.
  M8: 'i64',
  m8: 'i64',
}

const COMPLEX: Readonly<Record<string, StoredDtype>> = { c8: 'f32', c16: 'f64' }

/** The longest fixed text: longer ones would be a mistake in the metadata. In bytes. */
const LONGEST_TEXT = 1 << 20

const NAMES: Readonly<Record<string, string>> = {
  bool: 'b1',
  int8: 'i1',
  int16: 'i2',
  int32: 'i4',
  int64: 'i8',
  uint8: 'u1',
  uint16: 'u2',
  uint32: 'u4',
  uint64: 'u8',
  float16: 'f2',
  float32: 'f4',
  float64: 'f8',
  complex64: 'c8',
  complex128: 'c16',
  'numpy.datetime64': 'M8',
  'numpy.timedelta64': 'm8',
}

const BFLOAT16: Element = { form: 'number', dtype: 'bf16', bytes: 2, bigEndian: false }

/** Zarr 2: NumPy's text for a type, such as `<f4`. An `object` type has its form from its filters. */
export function elementV2(dtype: unknown): Element {
  if (Array.isArray(dtype))
    throw new ZarrFault('its elements are records of several fields: write an array for each field')
  const [, order, kind, size] =
    /^([<>|=])([a-zA-Z])(\d+)?(?:\[[^\]]*\])?$/.exec(typeof dtype === 'string' ? dtype : '') ?? []
  // NumPy has no such type: TensorStore names it so.
  if (dtype === 'bfloat16') return BFLOAT16
  if (kind === undefined) throw new ZarrFault(`its dtype ${JSON.stringify(dtype)} is none that NumPy has`)
  if (kind === 'O') return vlen('vlen-text')
  const element = fixed(`${kind}${size}`, order === '>') ?? textOf(kind, Number(size), order === '>')
  if (element !== undefined) return element
  throw new ZarrFault(`its elements are ${dtype}, which is not read: write them as numbers or text`)
}

/** Zarr 3: a name, or an object with `name` and `configuration`. The order of bytes comes from the codec `bytes`. */
export function elementV3(type: unknown): Element {
  const { name, configuration } = nameOf(type)
  if (name === 'bfloat16') return BFLOAT16
  if (name === 'string') return vlen('vlen-text')
  if (name === 'variable_length_bytes' || name === 'bytes') return vlen('vlen-bytes')
  const length = typeof configuration.length_bytes === 'number' ? configuration.length_bytes : 0
  const element =
    fixed(NAMES[name] ?? '', false) ??
    (name === 'null_terminated_bytes' ? textOf('S', length, false) : undefined) ??
    (name === 'fixed_length_utf32' ? textOf('U', length / 4, false) : undefined)
  if (element !== undefined) return element
  throw new ZarrFault(`its data_type is "${name}", which is not read: write it as numbers or text`)
}

/** What Zarr 3 names: `"float32"`, or `{ "name": …, "configuration": { … } }`. */
export function nameOf(json: unknown): { name: string; configuration: Record<string, unknown> } {
  if (typeof json === 'string') return { name: json, configuration: {} }
  const { name, configuration = {} } = (json ?? {}) as { name?: unknown; configuration?: unknown }
  if (typeof name !== 'string' || typeof configuration !== 'object' || configuration === null)
    throw new ZarrFault(`it has ${shown(json)} where a name should stand`)
  return { name, configuration: configuration as Record<string, unknown> }
}

/** A piece of the metadata, for messages. */
export function shown(json: unknown): string {
  const text = JSON.stringify(json) ?? 'nothing'
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function fixed(kind: string, bigEndian: boolean): Element | undefined {
  if (Object.hasOwn(KINDS, kind)) {
    const dtype = KINDS[kind]
    const bytes = bytesOfStored(dtype)
    return { form: 'number', dtype, bytes, bigEndian: bigEndian && bytes > 1 }
  }
  if (!Object.hasOwn(COMPLEX, kind)) return undefined
  const dtype = COMPLEX[kind]
  return { form: 'complex', dtype, bytes: 2 * bytesOfStored(dtype), bigEndian }
}

function textOf(kind: string, length: number, bigEndian: boolean): Element | undefined {
  const bytes = kind === 'U' ? 4 * length : length
  if (!['U', 'S', 'a'].includes(kind) || !(Number.isInteger(bytes) && bytes > 0)) return undefined
  if (bytes > LONGEST_TEXT) throw new ZarrFault(`its texts have ${bytes} bytes, more than ${LONGEST_TEXT}`)
  return { form: kind === 'U' ? 'utf32' : 'ascii', dtype: 'u8', bytes, bigEndian }
}

function vlen(form: 'vlen-text' | 'vlen-bytes'): Element {
  return { form, dtype: 'u8', bytes: 0, bigEndian: false }
}
