/**
 * What stands before the elements of an .npy file:
 *
 *   93 'NUMPY'  major minor  length (u16 in version 1, u32 in 2 and 3)  "{'descr': '<f4', …}\n"  elements
 */
import { DecodeError } from '../errors.js'
import { type NpyHeader, parseNpyHeader } from './header-text.js'

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

export interface NpyFront extends NpyHeader {
  /** Where the elements begin. */
  start: number
}

/** Reads the front of a file, of which `bytes` are the first. */
export function readNpyFront(bytes: Uint8Array): NpyFront {
  if (!isNpy(bytes)) throw new DecodeError('is not an npy array: it does not start with "\\x93NUMPY"')
  const start = npyStart(bytes)
  if (start > bytes.length)
    throw new DecodeError(`npy is cut off within its header, after ${bytes.length} bytes`)
  const from = PREFIX + lengthBytes(bytes)
  // Version 3 has UTF-8, for the names of fields.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, start - from)
  return { ...parseNpyHeader(text.toString(bytes[6] === 3 ? 'utf8' : 'latin1')), start }
}

/** Where the elements begin, by the first bytes; Infinity where they are too few to tell. */
export function npyStart(bytes: Uint8Array): number {
  const major = bytes[6]
  if (bytes.length > 6 && (major < 1 || major > 3))
    throw new DecodeError(`npy has format version ${major}: only 1, 2 and 3 are known`)
  const from = PREFIX + lengthBytes(bytes)
  if (bytes.length < from) return Infinity
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = major === 1 ? view.getUint16(PREFIX, true) : view.getUint32(PREFIX, true)
  if (length > MOST_TEXT) {
    throw new DecodeError(
      `npy header has ${length} bytes, more than ${MOST_TEXT}, which is NumPy's limit too: it is damaged, or made to do harm`,
    )
  }
  return from + length
}

function lengthBytes(bytes: Uint8Array): number {
  return bytes[6] === 1 ? 2 : 4
}
