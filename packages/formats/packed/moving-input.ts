/** Reads a file of any size from its beginning to its end, as much at a time as a decompressor has to see together. */
import { DecodeError } from '../../core/basics/errors.js'

/** Bytes that are held at least. */
const HELD = 8 << 20

/** Fills `into` from `position` on; gives the number of bytes. */
export type ReadAt = (into: Buffer, position: number) => Promise<number>

/** A part of the file that moves on with what is read of it. */
export class MovingInput {
  private buffer = Buffer.alloc(0)
  private from = 0

  constructor(
    private readonly read: ReadAt,
    private readonly size: number,
  ) {}

  /** Has so many bytes from `at` on, or all that there are. */
  async hold(at: number, bytes: number): Promise<void> {
    const end = this.from + this.buffer.length
    if (at + bytes <= end || end === this.size) {
      if (at >= this.from) return
    }
    const kept = at < end ? this.buffer.subarray(at - this.from) : Buffer.alloc(0)
    const next = Buffer.allocUnsafeSlow(Math.max(0, Math.min(Math.max(HELD, bytes), this.size - at)))
    kept.copy(next)
    if (next.length > kept.length) await this.read(next.subarray(kept.length), at + kept.length)
    this.buffer = next
    this.from = at
  }

  /** Does something with the bytes from `at` on; what is wrong is told with the place. */
  withPlace<T>(at: number, work: (bytes: Buffer) => T): T {
    try {
      return work(this.buffer.subarray(at - this.from))
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new DecodeError(`is damaged at byte ${at}: ${error.message}`, { cause: error })
    }
  }
}
