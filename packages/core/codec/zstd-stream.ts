/** Decompresses a Zstandard file of any size once, from its beginning, with frames of any size. */
import { DecodeError } from '../basics/errors.js'
import { zstdStream } from './libraries.js'
import type { ReadAt } from './moving-input.js'
import { scanZstd } from './zstd-scan.js'

/** Bytes that are read, and made, at a time. */
const PIECE = 1 << 20

export interface PieceSink {
  /** Output, valid during the call. */
  found(piece: Uint8Array): void
  /** Bytes of the file that were used. */
  progress?(bytes: number): void
}

export async function streamZstd(read: ReadAt, size: number, sink: PieceSink): Promise<void> {
  const open = zstdStream()
  // Without the library, frames are decompressed as a whole.
  if (open === null) return scanZstd(read, size, { ...sink, frame: () => {} })
  using stream = open()
  const [input, out] = [Buffer.allocUnsafeSlow(PIECE), Buffer.allocUnsafeSlow(PIECE)]
  let ended = true
  for (let at = 0; at < size; ) {
    const got = await read(input.subarray(0, Math.min(PIECE, size - at)), at)
    for (let used = 0, full = true; used < got || full; ) {
      const step = stream.step(input.subarray(used, got), out)
      if (typeof step === 'string') throw new DecodeError(`is damaged near byte ${at + used}: ${step}`)
      used += step.read
      if (step.written > 0) sink.found(out.subarray(0, step.written))
      full = step.written === out.length
      ended = step.ended
      if (ended && used === got) break
    }
    at += got
    sink.progress?.(at)
  }
  if (!ended) throw new DecodeError(`is damaged at byte ${size}: its last frame is cut off`)
}
