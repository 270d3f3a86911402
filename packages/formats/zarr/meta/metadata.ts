/** Reads the JSON of Zarr's metadata: of arrays, and which nodes there are. */
import { inFile } from '../../../core/basics/errors.js'
import type { ChunkStep } from '../decode-chunk.js'
import { type ArrayMeta, checkedKind, sidesOf } from './array-meta.js'
import { stepOf } from './codec-names.js'
import { type Element, elementV2, shown } from './element.js'
import { ZarrFault } from './fault.js'
import { fillBytes } from './fill.js'
import { arrayV3 } from './metadata-v3.js'

/** Bytes of a file of metadata: consolidated ones have some 500 bytes an array. */
export const MOST_METADATA = 64 << 20

/** Texts and numbers of JSON as Python writes it: NaN and infinities may stand there without quotes. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:NaN|Infinity)\b|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g
/** What JSON.parse refuses, and integers of more digits than a number holds: these become texts. */
const AS_TEXT = /^-?(?:NaN|Infinity|\d{16,})$/

/** What metadata is called, in both versions. */
const METADATA = ['zarr.json', '.zgroup', '.zarray', '.zmetadata', '.zattrs']

export type Json = Record<string, unknown>

/** The object that a file holds. */
export function parseMetadata(file: string, bytes: Uint8Array): Json {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  let json: unknown
  try {
    json = JSON.parse(text.replace(TOKENS, found => (AS_TEXT.test(found) ? `"${found}"` : found)))
  } catch (cause) {
    throw inFile(file, `is no JSON: ${(cause as Error).message}: copy or write it again`, { cause })
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw inFile(file, `holds no object: it should be Zarr's metadata`)
  return json as Json
}

/** The metadata of an array. `file` is where it stands, `path` the array in it, for messages. */
export function readArray(json: Json, version: 2 | 3, file: string, path: string): ArrayMeta {
  try {
    return version === 2 ? arrayV2(json) : arrayV3(json)
  } catch (error) {
    if (!(error instanceof ZarrFault)) throw error
    const which = path === '' ? 'the array' : `array "${path}"`
    throw inFile(file, `: ${which} can't be read: ${error.message}`, { cause: error })
  }
}

/** Whether a path of a node stays below its store: no part is empty, `.` or `..`. */
export function isInside(path: string): boolean {
  return (
    path === '' ||
    path.split('/').every(part => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/.test(part))
  )
}

/** Whether an object holds metadata, by its path. */
export function isMetadata(path: string): boolean {
  return METADATA.includes(path.slice(path.lastIndexOf('/') + 1))
}

/** Filters that make texts of any length: of which form. */
const VLEN: Readonly<Record<string, Element['form']>> = {
  'vlen-utf8': 'vlen-text',
  'vlen-bytes': 'vlen-bytes',
}

function arrayV2(json: Record<string, unknown>): ArrayMeta {
  if (json.zarr_format !== 2) throw new ZarrFault(`its zarr_format is ${shown(json.zarr_format)}, not 2`)
  const shape = sidesOf(json.shape, 'shape', 0)
  const chunk = sidesOf(json.chunks, 'chunks', 0, shape.length).map(side => Math.max(1, side))
  if (json.order !== 'C' && json.order !== 'F')
    throw new ZarrFault(`its order is ${shown(json.order)}, not C or F`)
  const axes = shape.map((_, axis) => axis)
  let element = elementV2(json.dtype)
  const filters = (json.filters ?? []) as unknown[]
  if (!Array.isArray(filters)) throw new ZarrFault(`its filters are ${shown(filters)}, no list`)
  const names = filters.map(idOf)
  if (element.form === 'vlen-text') {
    const form = VLEN[names[0]]
    if (form === undefined || names.length !== 1)
      throw new ZarrFault(`it holds Python objects (${names}): write texts, or numbers`)
    element = { ...element, form }
  }
  const filterSteps = names.map((name, i) =>
    name in VLEN ? [] : stepOf(name, filters[i] as object, element),
  )
  const compressor = json.compressor ?? undefined
  const compressed = compressor === undefined ? [] : stepOf(idOf(compressor), compressor as object, element)
  const steps: ChunkStep[] = [...compressed, ...filterSteps.reverse().flat()]
  const separator = json.dimension_separator === '/' ? '/' : '.'
  return {
    shape,
    kind: checkedKind({
      element,
      chunk,
      order: json.order === 'C' ? axes : axes.reverse(),
      steps,
      fill: fillBytes(json.fill_value ?? unsaid(json.dtype), element, 2),
      shards: [],
      keys: { lead: '', separator, skip: 0 },
      codecs: [...names, ...(compressor === undefined ? [] : [idOf(compressor)])],
    }),
  }
}

/** What stands for dates and durations where the metadata gives no fill value. Of other types it is zero. */
function unsaid(dtype: unknown): 'NaT' | undefined {
  return typeof dtype === 'string' && /^[<>|=][mM]8/.test(dtype) ? 'NaT' : undefined
}

function idOf(codec: unknown): string {
  const { id } = (codec ?? {}) as { id?: unknown }
  if (typeof id !== 'string') throw new ZarrFault(`it has a codec ${shown(codec)} without an id`)
  return id
}
