/** Reads the JSON of Zarr's metadata: of arrays, and which nodes there are. */
import { SourceError } from '../../../core/basics/errors.js'
import type { ArrayMeta } from './array-meta.js'
import { ZarrFault } from './fault.js'
import { arrayV2 } from './metadata-v2.js'
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
    throw new SourceError(`${file} is no JSON: ${(cause as Error).message}: copy or write it again`, {
      file,
      cause,
    })
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new SourceError(`${file} holds no object: it should be Zarr's metadata`, { file })
  return json as Json
}

/** The metadata of an array. `file` is where it stands, `path` the array in it, for messages. */
export function readArray(json: Json, version: 2 | 3, file: string, path: string): ArrayMeta {
  try {
    return version === 2 ? arrayV2(json) : arrayV3(json)
  } catch (error) {
    if (!(error instanceof ZarrFault)) throw error
    const which = path === '' ? 'the array' : `array "${path}"`
    throw new SourceError(`${file}: ${which} can't be read: ${error.message}`, { file, cause: error })
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
