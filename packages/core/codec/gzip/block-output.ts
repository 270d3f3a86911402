/**
 * Decompresses deflate block by block, while a file is indexed: blocks begin at the only places from which decompression can
 * begin again later. Output goes to `found` in pieces. What lies before it in `out`, 32 KiB, is what later blocks may refer to.
 */
import { DecodeError } from '../../basics/errors.js'

/** How far back a match may reach. */
export const WINDOW = 32768
const LONGEST_MATCH = 258
/** Bytes of output that are collected. */
const ROOM = 1 << 18
/** Where `out` is full. A match that began before may go beyond. */
export const FULL = WINDOW + ROOM

export abstract class BlockOutput implements Disposable {
  /** All bytes that were made. */
  made = 0
  /** Whether the last block was the last one of its stream. */
  ended = false
  protected readonly out = Buffer.allocUnsafeSlow(FULL + LONGEST_MATCH)
  /** Output from here on was not handed out; the end of the output; the first byte that a match may reach. */
  private from = WINDOW
  protected to = WINDOW
  protected least = WINDOW

  constructor(private readonly found: (piece: Uint8Array) => void) {}

  /** A new stream: nothing before it can be reached. */
  begin(): void {
    this.flush()
    this.ended = false
    this.from = this.to = this.least = WINDOW
  }

  /** Decompresses the block that begins at a bit of `input`; gives the bit behind it. All of it must be there. */
  abstract block(input: Uint8Array, bit: number): number

  /** What later blocks may refer to: the last 32 KiB of output, or all of it. */
  window(): Uint8Array {
    return new Uint8Array(this.out.subarray(Math.max(this.least, this.to - WINDOW), this.to))
  }

  /** Hands out what was collected. */
  flush(): void {
    if (this.to > this.from) this.found(this.out.subarray(this.from, this.to))
    this.from = this.to
  }

  [Symbol.dispose](): void {}

  /** Makes room: what was collected is handed out, and the window moves to the front. */
  protected slide(): void {
    this.flush()
    const keep = Math.min(WINDOW, this.to - this.least)
    this.out.copyWithin(WINDOW - keep, this.to - keep, this.to)
    this.least = WINDOW - keep
    this.from = this.to = WINDOW
  }
}

export const cutOff = (): DecodeError => new DecodeError('it is cut off')
export const damaged = (): DecodeError => new DecodeError('a deflate block is damaged')
