/**
 * Decompresses a Zstandard file once, frame by frame, and tells where its frames begin: decompression can begin again there, and
 * nowhere else. So a frame is decompressed as a whole, and must not be too large.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { zstdStream } from '../../core/codec/libraries.js'
import { decompressZstd } from '../../core/codec/zstd.js'
import { MovingInput, type ReadAt } from './moving-input.js'

/** Bytes of a frame, compressed and not. */
const MOST_FRAME = 256 << 20
const FIRST = 1 << 20
const MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a50
const BLOCK_REPEATED = 1

export interface ZstdSink {
  /** Output, valid during the call. */
  found(piece: Uint8Array): void
  /** A frame begins at a byte of the file; so many bytes of output come before it. */
  frame(at: number, made: number): void
  /** Bytes of the file that were read. */
  progress?(bytes: number): void
}

export async function scanZstd(read: ReadAt, size: number, sink: ZstdSink): Promise<void> {
  const input = new MovingInput(read, size)
  let made = 0
  for (let at = 0; at < size; ) {
    let wanted = FIRST
    let length: number | undefined
    for (;;) {
      await input.hold(at, wanted)
      length = input.withPlace(at, frameBytes)
      if (length !== undefined) break
      if (at + wanted >= size) throw new DecodeError(`is damaged at byte ${at}: this frame is cut off`)
      if (wanted >= MOST_FRAME) throw tooLarge(at)
      wanted = Math.min(2 * wanted, MOST_FRAME)
    }
    const frame = length
    sink.frame(at, made)
    const out = input.withPlace(at, bytes => decompressZstd(bytes.subarray(0, frame), MOST_FRAME, 4 * frame))
    if (out === undefined) throw tooLarge(at)
    if (out.length > 0) sink.found(out)
    made += out.length
    at += frame
    sink.progress?.(at)
  }
}

/** Bytes of the frame that `bytes` begins with; undefined where it does not end in them. */
function frameBytes(bytes: Buffer): number | undefined {
  if (bytes.length < 8) return undefined
  const magic = bytes.readUInt32LE(0)
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
    const length = 8 + bytes.readUInt32LE(4)
    return length <= bytes.length ? length : undefined
  }
  if (magic !== MAGIC) throw new DecodeError('no Zstandard frame begins here')
  const descriptor = bytes[4]
  const single = (descriptor & 32) !== 0
  let at = (single ? 5 : 6) + [0, 1, 2, 4][descriptor & 3] + [single ? 1 : 0, 2, 4, 8][descriptor >> 6]
  for (let last = false; !last; ) {
    if (at + 3 > bytes.length) return undefined
    const header = bytes.readUIntLE(at, 3)
    last = (header & 1) === 1
    at += 3 + (((header >> 1) & 3) === BLOCK_REPEATED ? 1 : header >> 3)
  }
  if ((descriptor & 4) !== 0) at += 4
  return at <= bytes.length ? at : undefined
}

function tooLarge(at: number): DecodeError {
  return new DecodeError(
    `has a frame of more than ${MOST_FRAME >> 20} MiB at byte ${at}, which can only be decompressed as a whole: write it in ` +
      'frames of some MB (pzstd, or the seekable format of zstd), as gzip, or decompress it (unzstd)',
  )
}

/** Bytes that are read, and made, at a time. */
const PIECE = 1 << 20

export interface PieceSink {
  /** Output, valid during the call. */
  found(piece: Uint8Array): void
  /** Bytes of the file that were used. */
  progress?(bytes: number): void
}

/** Decompresses a file of any size once, from its beginning, with frames of any size. */
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
