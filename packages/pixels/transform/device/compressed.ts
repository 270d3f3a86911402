/**
 * What of an array's compressed bytes a device can take. nvCOMP wants bare streams, one for each array, and checks next
 * to nothing: what is cheap to check is checked here, from headers alone, and what looks odd stays on the CPU.
 *
 *   zstd     one frame that says its size; its blocks are walked through
 *   lz4      the one block of a frame, or a bare one; its sequences are counted
 *   deflate  as it is          zlib, gzip   without header and checksum
 */

import { DecodeError } from '../../../core/basics/errors.js'
import { isNpy } from '../../../core/basics/npy/file.js'
import { framesOf } from '../../../core/codec/zstd.js'
import type { DeviceCodec } from '../../../core/define/making.js'
import type { Compression } from '../../../core/define/types.js'
import { peekDeflate } from '../../decode/compressed/decompress.js'
import { singleBlock } from '../../decode/compressed/lz4.js'

export interface Payload {
  /** The stream for the device. */
  stream: Uint8Array
  /** The checksum that followed it: kept, so that a CPU that has to do it after all can look at it. */
  checksum: Uint8Array
}

export const DEVICE_CODECS: Readonly<Record<Compression, DeviceCodec>> = {
  zstd: 'zstd',
  lz4: 'lz4',
  deflate: 'deflate',
  zlib: 'deflate',
  gzip: 'deflate',
}

/** The stream of an array of `size` bytes that was stored without NumPy's header; undefined: the CPU is to do it. */
export function payloadOf(compression: Compression, bytes: Uint8Array, size: number): Payload | undefined {
  try {
    return READERS[compression](bytes, size)
  } catch (error) {
    // Only the CPU says that a sample is bad, and in its own words.
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

const READERS: Readonly<Record<Compression, (bytes: Uint8Array, size: number) => Payload | undefined>> = {
  zstd(bytes, size) {
    const [frame, ...others] = framesOf(bytes)
    const single = frame !== undefined && others.length === 0
    return single && frame.size === size ? { stream: frame.bytes, checksum: NONE } : undefined
  },
  lz4(bytes, size) {
    const single = singleBlock(bytes)
    return single?.size === size ? { stream: single.block, checksum: NONE } : undefined
  },
  deflate: bytes => (bytes.length > 0 ? elements({ stream: bytes, checksum: NONE }) : undefined),
  zlib: bytes => (isZlib(bytes) ? elements(around(bytes, 2, 4)) : undefined),
  gzip(bytes, size) {
    const start = gzipStart(bytes)
    if (start === undefined || viewOf(bytes).getUint32(bytes.length - 4, true) !== size) return undefined
    return around(bytes, start, 8)
  },
}

/** The bytes as they were before the device's stream was taken out of them, as far as decompressing needs it. */
export function rewrap(compression: Compression, { stream, checksum }: Payload): Uint8Array {
  const head = HEADS[compression]
  return head === undefined ? stream : Buffer.concat([head, stream, checksum])
}

const NONE = new Uint8Array(0)
/** The shortest headers there are. */
const HEADS: Partial<Record<Compression, Uint8Array>> = {
  zlib: Uint8Array.of(0x78, 0x9c),
  gzip: Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255),
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function around(bytes: Uint8Array, head: number, tail: number): Payload {
  const end = bytes.length - tail
  return { stream: bytes.subarray(head, end), checksum: bytes.subarray(end) }
}

/** Deflate does not say how long it is; whether it begins with NumPy's header can be seen. */
function elements(payload: Payload): Payload | undefined {
  return isNpy(peekDeflate(payload.stream)) ? undefined : payload
}

/** Method 8, no dictionary, and a header that is a multiple of 31. */
function isZlib(bytes: Uint8Array): boolean {
  const [method, flags] = bytes
  return bytes.length > 6 && (method & 15) === 8 && (flags & 32) === 0 && (method * 256 + flags) % 31 === 0
}

/** Where the stream of a gzip member begins: behind ten bytes, and an extra field, a name, a comment and a check. */
function gzipStart(bytes: Uint8Array): number | undefined {
  if (bytes.length < 18 || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return undefined
  const flags = bytes[3]
  let at = 10
  if (flags & 4) at += 2 + viewOf(bytes).getUint16(at, true)
  for (const text of [8, 16]) if (flags & text) at = bytes.indexOf(0, at) + 1 || Infinity
  if (flags & 2) at += 2
  return at + 8 < bytes.length ? at : undefined
}
