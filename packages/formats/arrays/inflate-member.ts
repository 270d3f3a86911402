/** Unpacks a deflated member, and checks that it is what the archive says. */
import { DecodeError } from '../../core/basics/errors.js'
import { crc32 } from '../../core/codec/checksum.js'
import { decompressInto } from '../../core/codec/codec.js'
import type { ByteRange } from '../../core/source/source.js'
import type { Deflated } from './member.js'

/** The elements of the array: what is left of `into`, which has `about.size` bytes, without its header. */
export function inflateMember(
  { file, offset }: ByteRange,
  data: Uint8Array,
  into: Uint8Array,
  about: Deflated,
): Uint8Array {
  const bad = (problem: string, cause?: unknown) =>
    new DecodeError(
      `${file}: the member at offset ${offset} ${problem}: it is damaged, copy or write the file again`,
      {
        cause,
      },
    )
  let written: number
  try {
    written = decompressInto('deflate', data, into)
  } catch (error) {
    throw bad(`can't be unpacked: ${(error as Error).message}`, error)
  }
  if (written !== about.size) throw bad(`unpacks to ${written} bytes, and not to ${about.size}`)
  if (crc32(into) !== about.crc) throw bad('has another checksum (CRC-32) than the archive says')
  return into.subarray(about.skip)
}
