/** Unpacks a deflated member; checks that a member is what the archive says. */
import { DecodeError } from '../../core/basics/errors.js'
import { crc32 } from '../../core/codec/checksum.js'
import { decompressInto } from '../../core/codec/codec.js'
import type { ByteRange } from '../../core/source/source.js'
import type { Checksum, Deflated } from './member.js'

/** Refuses the elements of a stored member that are not those of its checksum. */
export function checkMember(range: ByteRange, data: Uint8Array, { header, crc }: Checksum): void {
  if (crc32(data, header) !== crc) throw damaged(range, OTHER_CRC)
}

const OTHER_CRC = 'has another checksum (CRC-32) than the archive says'

function damaged({ file, offset }: ByteRange, problem: string, cause?: unknown): DecodeError {
  return new DecodeError(
    `${file}: the member at offset ${offset} ${problem}: it is damaged, copy or write the file again`,
    { cause },
  )
}

/** The elements of the array: what is left of `into`, which has `about.size` bytes, without its header. */
export function inflateMember(
  range: ByteRange,
  data: Uint8Array,
  into: Uint8Array,
  about: Deflated,
): Uint8Array {
  let written: number
  try {
    written = decompressInto('deflate', data, into)
  } catch (error) {
    throw damaged(range, `can't be unpacked: ${(error as Error).message}`, error)
  }
  if (written !== about.size) throw damaged(range, `unpacks to ${written} bytes, and not to ${about.size}`)
  if (crc32(into) !== about.crc) throw damaged(range, OTHER_CRC)
  return into.subarray(about.skip)
}
