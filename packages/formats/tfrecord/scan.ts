/**
 * Walks over a TFRecord file from record to record. It reads large pieces while records are small, and jumps over the data of
 * large ones. Every length is checked with its checksum; the data's checksums are left to those who read them.
 */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import { NumberBuilder } from '../../core/source/index/columns.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import { FRAME, HEAD, lengthAt } from './record.js'

/** Pieces grow from the first size to the last while records follow one another closely. */
const PIECE = { first: 64 << 10, last: 1 << 20 }

/** Where each record begins, and the end of the last. */
export async function scanRecords(
  read: ReadAt,
  size: number,
  file: string,
  least = 0,
  progress?: (done: number) => void,
): Promise<NumberBuilder> {
  const starts = new NumberBuilder()
  const first = Math.max(PIECE.first, least)
  const last = Math.max(PIECE.last, first)
  let buffer = Buffer.alloc(0)
  let piece = first
  let at = 0
  let end = 0
  while (at < size) {
    // After a jump over a large record begin small again, since the next may be large too.
    piece = at - end > piece ? first : Math.min(last, 2 * piece)
    const length = Math.min(piece, size - at)
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length)
    const got = await read(buffer.subarray(0, length), at)
    if (got < length) throw cut(file, starts.length, at, at + got)
    const from = at
    end = at + got
    while (at < end && (at + HEAD <= end || end === size)) {
      if (at + HEAD > size) throw cut(file, starts.length, at, size)
      const data = lengthAt(buffer, at - from)
      if (data === undefined) throw wrongHead(file, starts.length, at)
      if (at + FRAME + data > size) throw cut(file, starts.length, at, size)
      starts.push(at)
      at += FRAME + data
    }
    progress?.(Math.min(at, size))
  }
  starts.push(size)
  return starts
}

function cut(file: string, record: number, at: number, size: number): SourceError {
  return inFile(
    file,
    `: the file ends at byte ${size}, in the middle of record ${record}, which begins at byte ${at}: it was cut short; ` +
      `copy or write it again, or keep the whole records: \`truncate -s ${at} FILE\``,
    { offset: at },
  )
}

/** A length whose checksum is wrong. */
export function wrongHead(file: string, record: number, at: number, codec?: string): SourceError {
  const what =
    record === 0
      ? 'this is no TFRecord file, or it is damaged'
      : 'the file is damaged; copy or write it again'
  const place = codec === undefined ? `at byte ${at}` : `at byte ${at} of what it decompresses to (${codec})`
  return inFile(file, `: the checksum of the length of record ${record}, ${place}, is wrong: ${what}`, {
    offset: codec === undefined ? at : 0,
  })
}
