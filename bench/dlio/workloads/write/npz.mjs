/**
 * An .npz file as `numpy.savez(file, x=…)` writes it: a zip archive whose only member, x.npy, is stored.
 *
 *   local header, name
 *   x.npy: NumPy's header, elements
 *   central directory, its end
 */
import { crc32 } from '../../../../build/core/codec/checksum.js'

const NAME = Buffer.from('x.npy')
const LOCAL = 30
const CENTRAL = 46
const END = 22
/** 1980-01-01, the first day of zip's calendar: the same data make the same file. */
const DATE = 0x0021
/** Zip's 32-bit sizes. */
const MOST = 2 ** 32 - 1
/** Bytes of the file for so many elements. */
export function npzBytes(elements) {
  return LOCAL + NAME.length + npyHeader(elements).length + elements + CENTRAL + NAME.length + END
}
export function writeNpz(draft, elements, random) {
  const header = npyHeader(elements)
  const size = header.length + elements
  if (size > MOST) throw new RangeError(`an array of ${elements} bytes is too large for a zip of 32 bits`)
  draft.write(Buffer.alloc(LOCAL))
  draft.write(NAME)
  draft.write(header)
  let crc = crc32(header)
  for (const piece of random.take(elements)) {
    crc = crc32(piece, crc)
    draft.write(piece)
  }
  const end = draft.bytes
  draft.writeAt(record(0x04034b50, LOCAL, crc, size), 0)
  draft.write(record(0x02014b50, CENTRAL, crc, size))
  draft.write(NAME)
  draft.write(endRecord(end, CENTRAL + NAME.length))
}
/** NumPy's header of version 1.0: magic, length, a dict as Python writes it, filled with blanks to a multiple of 64. */
function npyHeader(elements) {
  const dict = `{'descr': '|u1', 'fortran_order': False, 'shape': (${elements},), }`
  const length = Math.ceil((10 + dict.length + 1) / 64) * 64 - 10
  const header = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${dict.padEnd(length - 1)}\n`, 'latin1')
  header.writeUInt16LE(length, 8)
  return header
}
/** A local header or an entry of the central directory, which has one more version in front and more behind. */
function record(signature, bytes, crc, size) {
  const out = Buffer.alloc(bytes)
  out.writeUInt32LE(signature, 0)
  let at = 4
  if (bytes === CENTRAL) at = out.writeUInt16LE(20, at)
  at = out.writeUInt16LE(20, at)
  at = out.writeUInt16LE(0, at) // flags
  at = out.writeUInt16LE(0, at) // stored
  at = out.writeUInt16LE(0, at) // midnight
  at = out.writeUInt16LE(DATE, at)
  at = out.writeUInt32LE(crc, at)
  at = out.writeUInt32LE(size, at)
  at = out.writeUInt32LE(size, at)
  out.writeUInt16LE(NAME.length, at)
  return out
}
function endRecord(directoryAt, directoryBytes) {
  const out = Buffer.alloc(END)
  out.writeUInt32LE(0x06054b50, 0)
  out.writeUInt16LE(1, 8)
  out.writeUInt16LE(1, 10)
  out.writeUInt32LE(directoryBytes, 12)
  out.writeUInt32LE(directoryAt, 16)
  return out
}
