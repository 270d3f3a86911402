/** Goes through the text of a file while it is indexed, piece by piece; compressed files are decompressed on the way. */
import type { DataFile } from '../../core/source/find/data-files.js'
import type { IndexTools } from '../../core/source/index/of-file.js'
import { refuseForeign, TELLING } from '../foreign.js'
import { type Packed, scanPacked } from '../packed/scan.js'
import type { PackedCodec } from '../packed/units.js'

/** Bytes that are read at a time: sequential speed on any disk. */
const PIECE = 4 << 20
/** The first four bytes of a frame of zstd that holds something else. */
const SKIPPABLE = 0x184d2a50

/** A piece is valid during the call only. What a file is, its first bytes tell, not its name. */
export async function eachPiece(
  file: DataFile,
  tools: IndexTools,
  found: (piece: Uint8Array) => void,
): Promise<Packed | undefined> {
  const codec = await codecOf(file, tools)
  if (codec !== undefined) return scanPacked(file, codec, tools, found)
  await readPieces(file, tools, found)
  return undefined
}

async function codecOf({ file, bytes }: DataFile, { read }: IndexTools): Promise<PackedCodec | undefined> {
  if (bytes < 4) return undefined
  const head = Buffer.alloc(Math.min(bytes, TELLING))
  await read(head, 0)
  refuseForeign(file, head)
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  const magic = head.readUInt32LE(0)
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) === SKIPPABLE ? 'zstd' : undefined
}

/** The bytes as they lie in the file. The next piece is read while `found` works on one. */
async function readPieces(
  { bytes }: DataFile,
  { read, piece, progress }: IndexTools,
  found: (piece: Uint8Array) => void,
): Promise<void> {
  const size = Math.max(1, Math.min(bytes, Math.max(PIECE, piece)))
  let [here, there] = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)]
  const fetch = (into: Buffer, at: number): Promise<number> =>
    at < bytes ? read(into.subarray(0, Math.min(size, bytes - at)), at) : Promise.resolve(0)
  let pending = fetch(here, 0)
  for (let at = 0; at < bytes; ) {
    const got = await pending
    at += got
    pending = fetch(there, at)
    try {
      found(here.subarray(0, got))
    } catch (error) {
      await pending.catch(() => undefined) // no read goes on behind an error
      throw error
    }
    progress?.(at)
    ;[here, there] = [there, here]
  }
}
