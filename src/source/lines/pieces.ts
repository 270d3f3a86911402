/** Goes through the text of a file while it is indexed, piece by piece; compressed files are decompressed on the way. */
import type { DataFile } from '../find/data-files.js'
import type { IndexTools } from '../index/of-file.js'

/** Bytes that are read at a time: sequential speed on any disk. */
const PIECE = 4 << 20

/** A piece is valid during the call only. */
export async function eachPiece(
  file: DataFile,
  tools: IndexTools,
  found: (piece: Uint8Array) => void,
): Promise<void> {
  await readPieces(file, tools, found)
}

/** The bytes as they lie in the file. The next piece is read while `found` works on one. */
export async function readPieces(
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
