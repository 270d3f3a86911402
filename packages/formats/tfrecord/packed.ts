/**
 * TFRecord files that TensorFlow compressed as a whole, with "GZIP" or "ZLIB". The file itself does not say so: its first bytes are no
 * head of a record, and look like one of the two. Its records are found in what it decompresses to.
 */
import { SourceError } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { NumberBuilder } from '../../core/source/index/columns.js'
import type { IndexTools } from '../../core/source/index/of-file.js'
import { type Packed, scanPacked } from '../packed/scan.js'
import { FRAME, HEAD, lengthAt } from './record.js'
import { wrongHead } from './scan.js'

export type TfrecordCodec = 'gzip' | 'zlib'

/** How a file is compressed; undefined where it is not. */
export async function codecOf({ bytes }: DataFile, { read }: IndexTools): Promise<TfrecordCodec | undefined> {
  const head = Buffer.alloc(Math.min(bytes, HEAD))
  if (head.length < 2) return undefined
  await read(head, 0)
  if (head.length === HEAD && lengthAt(head, 0) !== undefined) return undefined
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  const zlib = (head[0] & 15) === 8 && head[0] >> 4 <= 7 && head.readUInt16BE(0) % 31 === 0
  return zlib ? 'zlib' : undefined
}

/** The records of a compressed file, and its first bytes, decompressed. */
interface PackedRecords {
  starts: NumberBuilder
  packed: Packed
  head: Buffer
}

/** `kept`: as many decompressed bytes are kept, from the first on. */
export async function scanPackedRecords(
  file: DataFile,
  codec: TfrecordCodec,
  tools: IndexTools,
  kept: number,
): Promise<PackedRecords> {
  const scan = new RecordScan(file.file, codec)
  const head: Uint8Array[] = []
  let left = kept
  const packed = await scanPacked(file, codec, tools, piece => {
    if (left > 0) {
      const part = new Uint8Array(piece.subarray(0, left)) // a copy
      head.push(part)
      left -= part.length
    }
    scan.push(piece)
  })
  return { starts: scan.end(), packed, head: Buffer.concat(head) }
}

/** Finds records in bytes that come piece by piece, in order. */
class RecordScan {
  private readonly starts = new NumberBuilder()
  /** Where the next record begins, and the bytes that came. */
  private next = 0
  private at = 0
  /** A head, of which the first bytes were in an earlier piece. */
  private readonly head = Buffer.alloc(HEAD)
  private held = 0

  constructor(
    private readonly file: string,
    private readonly codec: TfrecordCodec,
  ) {}

  push(piece: Uint8Array): void {
    const end = this.at + piece.length
    while (this.next < end) {
      const from = this.next + this.held - this.at
      const some = piece.subarray(from, from + HEAD - this.held)
      this.head.set(some, this.held)
      this.held += some.length
      if (this.held < HEAD) break
      this.held = 0
      const data = lengthAt(this.head, 0)
      if (data === undefined) throw wrongHead(this.file, this.starts.length, this.next, this.codec)
      this.starts.push(this.next)
      this.next += FRAME + data
    }
    this.at = end
  }

  /** All bytes came. Gives where each record begins, and the end of the last. */
  end(): NumberBuilder {
    if (this.next !== this.at) {
      const record = this.starts.length - (this.held > 0 ? 0 : 1)
      throw new SourceError(
        `${this.file} (${this.codec}) ends in the middle of record ${record}, at byte ${this.at} of what it decompresses to: ` +
          'it was not written to its end; write it again',
        { file: this.file, offset: 0 },
      )
    }
    this.starts.push(this.at)
    return this.starts
  }
}
