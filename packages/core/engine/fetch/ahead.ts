/**
 * Reading ahead, while reads are slow: what a maker tells the stores of before its turn comes.
 *
 *   claims   c │ c+1 … │ c+k
 *            │           └ the maker that has taken claim c hints what c+k will read
 *            └ read now; it was hinted when c−k was taken
 *
 * Makers take claims in their order, so each claim is hinted once, and makers need not speak to each other.
 *
 * Hinted reads are fast, so they can't tell whether hints are still needed. The first read of one claim in 16 is never
 * hinted, and is timed. While these are fast, because the page cache has the data, nothing else is spent: no claim is
 * planned ahead.
 */
import { MAX_STRIDE } from '../../batch/control-words.js'
import type { CompiledOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import type { StepPlan } from '../../order/steps.js'

/** Bytes that a ring may have hinted and not read, over all its makers. */
const BYTES_AHEAD = 256 << 20
/** One in 2⁴ is timed, and not hinted. They are scattered: in even steps, all might be taken by the same maker. */
const TIMED_BITS = 4
const SCATTER = 0x9e3779b1
/** A read is slow above this: µs for any, and for each byte (2 GB/s). Out of the page cache, 30 kB take 5 to 15 µs. */
const SLOW_US = 25
const SLOW_US_A_BYTE = 0.0005
/** Reads that a maker times before it believes them: its code is not compiled yet, and its files are not open. */
const FIRST = 4
/** The weight of the latest read in the share of slow reads. */
const WEIGHT = 1 / 8
/** Hints begin above the first share, after three slow reads in a row. They end below the second, after some 18 fast ones at most. */
const BEGIN = 0.3
const END = 0.1

/** How far ahead is hinted: what the ring says of it (batch/control.ts). */
export interface Reach {
  /** Chunks of a claim. */
  stride: number
  makers: number
  /** Rows beyond the claims of all makers. */
  ahead: number
}

/** A claim whose turn is yet to come: its first chunk, and how many it has. */
export interface LaterClaim {
  number: number
  count: number
}

/** Rows of a claim whose turn is yet to come. */
export interface Later {
  draws: readonly Draw[]
  count: number
  epoch: number
}

export class Ahead {
  /** Bytes of one claim that are hinted at most. */
  bytes = BYTES_AHEAD
  private readonly draws: Draw[]
  private share = 0
  private hinting = false
  /** Reads that were timed so far. */
  private seen = 0
  /** Of the claim's first read: whether it is to be timed, and when and at how many bytes it began. */
  private state: 'none' | 'wanted' | 'begun' = 'none'
  private since = 0
  private before = 0

  constructor(
    private readonly layout: { chunks: number; chunkRows: number; rows: number },
    /** A clock, in ms. */
    private readonly now: () => number = () => performance.now(),
  ) {
    const most = Math.min(layout.rows, layout.chunkRows * Math.min(layout.chunks, MAX_STRIDE))
    this.draws = Array.from({ length: most }, () => ({ source: 0, row: 0, drawn: 0, epoch: 0 }))
  }

  /**
   * The claim to be hinted by the maker of the claim that begins with chunk `number`. Each batch begins with a claim of its own.
   */
  later(number: number, { stride, makers, ahead }: Reach): LaterClaim {
    const { chunks, chunkRows } = this.layout
    // The claims of the other makers are read at the same time as this one's.
    const beyond = makers - 1 + Math.ceil(ahead / (stride * chunkRows))
    this.bytes = Math.floor(BYTES_AHEAD / beyond)
    const each = Math.ceil(chunks / stride)
    const batch = Math.floor(number / chunks)
    const claim = batch * each + Math.floor((number - batch * chunks) / stride) + beyond
    const its = Math.floor(claim / each)
    return { number: its * chunks + (claim - its * each) * stride, count: stride }
  }

  /** Whether reads are slow, so that hints are worth their price. */
  get slow(): boolean {
    return this.hinting
  }

  /** The rows of a claim; undefined where the ring ends before it, after `limit` batches. */
  rowsOf(claim: LaterClaim, plan: StepPlan, limit: number, order: CompiledOrder): Later | undefined {
    const { chunks, chunkRows } = this.layout
    const batch = Math.floor(claim.number / chunks)
    if (batch >= limit) return undefined
    const step = plan.at(batch)
    const from = (claim.number - batch * chunks) * chunkRows
    const to = Math.min(step.count, from + Math.min(claim.count * chunkRows, this.draws.length))
    for (let row = from; row < to; row++)
      order.draw(step.epoch, row < step.valid ? step.first + row : step.filler(row), this.draws[row - from])
    return { draws: this.draws, count: Math.max(0, to - from), epoch: step.epoch }
  }

  /** Whether the first read of a claim is timed, and not hinted. */
  timed(claim: number): boolean {
    return Math.imul(claim, SCATTER) >>> (32 - TIMED_BITS) === 0
  }

  /** The reads of a claim begin. */
  begin(claim: number): void {
    this.state = this.timed(claim) ? 'wanted' : 'none'
  }

  /** Called before each of these reads, and after the last, with the count of all bytes read so far. */
  mark(bytes: number): void {
    if (this.state === 'none') return
    const now = this.now()
    if (this.state === 'wanted') {
      this.state = 'begun'
      this.since = now
      this.before = bytes
    } else {
      this.state = 'none'
      this.note((now - this.since) * 1000, bytes - this.before)
    }
  }

  private note(us: number, bytes: number): void {
    if (++this.seen <= FIRST) return
    const slow = us > SLOW_US + bytes * SLOW_US_A_BYTE
    this.share += ((slow ? 1 : 0) - this.share) * WEIGHT
    this.hinting = this.share > (this.hinting ? END : BEGIN)
  }
}
