/** Decompresses a file that is compressed as a whole, once, from its beginning to its end, and makes its seek table. */
import { DecodeError, inFile } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import type { IndexTools } from '../../core/source/index/of-file.js'
import { scanGzip, scanZlib } from './gzip-scan.js'
import { SeekTable } from './seek-table.js'
import type { PackedCodec } from './units.js'
import { scanZstd } from './zstd-scan.js'

/** What a compressed file turned out to be. */
export interface Packed {
  codec: PackedCodec
  table: SeekTable
}

/** `found` is given the decompressed bytes, piece by piece. A piece is valid during the call only. */
export async function scanPacked(
  { file, bytes }: DataFile,
  codec: PackedCodec,
  { read, progress }: IndexTools,
  found: (piece: Uint8Array) => void,
): Promise<Packed> {
  const table = new SeekTable()
  try {
    if (codec === 'zstd')
      await scanZstd(read, bytes, { found, frame: (at, made) => table.add(8 * at, made), progress })
    else {
      const block = (bit: number, made: number, window: () => Uint8Array): void =>
        table.add(bit, made, window)
      await (codec === 'gzip' ? scanGzip : scanZlib)(read, bytes, { found, block, progress })
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw inFile(file, `(${codec}) ${error.message}`, { cause: error })
  }
  return { codec, table }
}
