/**
 * How a record lies in a TFRecord file:
 *
 *    0  8  length n of the data, u64
 *    8  4  masked CRC-32C of these 8 bytes
 *   12  n  data
 * 12+n  4  masked CRC-32C of the data
 *
 * All numbers are little-endian.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { crc32c } from '../../core/codec/checksum.js'

/** Bytes before the data, and bytes around them in all. */
export const HEAD = 12
export const FRAME = 16

/** The checksum as it is stored: a checksum of data that has checksums in it would be a bad one. */
export function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
}

/** The length that a record's head tells; undefined where its checksum is wrong. */
export function lengthAt(bytes: Uint8Array, at: number): number | undefined {
  if (masked(crc32c(bytes.subarray(at, at + 8))) !== wordAt(bytes, at + 8)) return undefined
  return wordAt(bytes, at) + wordAt(bytes, at + 4) * 2 ** 32
}

/** The data of a whole record. With `check`, their checksum is compared. */
export function dataOf(record: Uint8Array, check: boolean): Uint8Array {
  const end = record.length - 4
  const data = record.subarray(HEAD, end)
  const length = wordAt(record, 0) + wordAt(record, 4) * 2 ** 32
  if (length !== data.length) {
    throw new DecodeError(
      `the record tells of ${length} bytes where the index has ${data.length}: the file is damaged, or its index is old; ` +
        'copy or write the file again',
    )
  }
  if (!check) return data
  const crc = masked(crc32c(data))
  const stored = wordAt(record, end)
  if (crc !== stored) {
    throw new DecodeError(
      `the checksum (CRC-32C) of the record's ${length} bytes is ${hex(crc)}, the file has ${hex(stored)}: the file is ` +
        'damaged; copy or write it again (`"check": false` reads it all the same)',
    )
  }
  return data
}

const hex = (word: number): string => word.toString(16).padStart(8, '0')
