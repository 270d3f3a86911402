/** A text file that is one document. */
import { readSync } from 'node:fs'
import { SourceError } from '../../../../core/basics/errors.js'
import { TELLING } from '../../../../formats/foreign.js'
import type { Input } from '../inputs.js'
import { openInput, type Report, refusePacked, shortened, unpack } from './lines.js'

/** Bytes of the longest document: its tokens take four times as much memory. */
const LONGEST = 512 << 20

/** All bytes of a file, without a byte order mark. */
export async function readWhole(input: Input, report: Report): Promise<Uint8Array> {
  const bytes = input.codec === undefined ? readPlain(input, report) : await readPacked(input, report)
  refusePacked(input.file, bytes.subarray(0, TELLING))
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function readPlain(input: Input, report: Report): Buffer {
  if (input.bytes > LONGEST) throw tooLong(input.file)
  const { fd, close } = openInput(input)
  try {
    const bytes = Buffer.allocUnsafeSlow(input.bytes)
    for (let at = 0; at < bytes.length; ) {
      const got = readSync(fd, bytes, at, bytes.length - at, at)
      if (got === 0) throw shortened(input, at)
      at += got
      report(got)
    }
    return bytes
  } finally {
    close()
  }
}

async function readPacked(input: Input, report: Report): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  await unpack(
    input,
    piece => {
      bytes += piece.length
      if (bytes > LONGEST) throw tooLong(input.file)
      pieces.push(Buffer.from(piece)) // a copy
    },
    report,
  )
  return Buffer.concat(pieces)
}

function tooLong(file: string): SourceError {
  return new SourceError(
    `${file} is one document of more than ${LONGEST >> 20} MiB: give --lines if each of its lines is one, or cut it into files`,
    { file },
  )
}
