/**
 * Decompresses deflate block by block by zlib, while a file is indexed: blocks begin at the only places from which decompression can
 * begin again later. zlib holds the bits of a byte in which a block ends for the next one.
 */
import { DecodeError, MissingError } from '../../core/basics/errors.js'
import { openZlib } from '../../core/system/codecs/zlib.js'

/** How far back a match may reach: these bytes before the output are kept in front of it. */
const WINDOW_BYTES = 32768
const FULL = WINDOW_BYTES + (1 << 18)

export class DeflateBlocks implements Disposable {
  /** All bytes that were made. */
  made = 0
  /** The last block was the last one of its stream. */
  ended = false
  private readonly stream = openStream()
  private readonly out = Buffer.allocUnsafeSlow(FULL)
  /** Output from here on was not handed out; the end of the output; the first byte that a match may reach. */
  private from = WINDOW_BYTES
  private to = WINDOW_BYTES
  private least = WINDOW_BYTES

  /** `sink` gets the output in pieces. */
  constructor(private readonly sink: (piece: Uint8Array) => void) {}

  /** A new stream: nothing before it can be reached. */
  begin(): void {
    this.flush()
    this.ended = false
    this.from = this.to = this.least = WINDOW_BYTES
    this.stream.reset()
  }

  /** Decompresses the block that begins at a bit of `input`; gives the bit behind it. All of it must be there. */
  block(input: Uint8Array, bit: number): number {
    let at = Math.ceil(bit / 8)
    for (;;) {
      if (this.to === FULL) this.slide()
      const step = this.stream.step(input.subarray(at), this.out.subarray(this.to, FULL))
      if (step === undefined) throw new DecodeError('a deflate block is damaged')
      at += step.read
      this.to += step.written
      this.made += step.written
      if (step.ended !== undefined) {
        this.ended = step.ended.last
        return 8 * at - step.ended.bits
      }
      if (step.read + step.written === 0) throw new DecodeError('it is cut off')
    }
  }

  /** What later blocks may refer to: the last 32 KiB of output, or all of it. */
  window(): Uint8Array {
    return new Uint8Array(this.out.subarray(Math.max(this.least, this.to - WINDOW_BYTES), this.to))
  }

  /** Hands out what was collected. */
  flush(): void {
    if (this.to > this.from) this.sink(this.out.subarray(this.from, this.to))
    this.from = this.to
  }

  [Symbol.dispose](): void {
    this.stream[Symbol.dispose]()
  }

  /** Makes room: what was collected is handed out, and the window moves to the front. */
  private slide(): void {
    this.flush()
    const keep = Math.min(WINDOW_BYTES, this.to - this.least)
    this.out.copyWithin(WINDOW_BYTES - keep, this.to - keep, this.to)
    this.least = WINDOW_BYTES - keep
    this.from = this.to = WINDOW_BYTES
  }
}

let zlib: ReturnType<typeof openZlib>

function openStream() {
  zlib ??= openZlib()
  const stream = zlib?.()
  if (stream !== undefined) return stream
  throw new MissingError(
    'this Node does not show its zlib, by which packed files are indexed: use a Node from nodejs.org, or unpack the file',
  )
}
