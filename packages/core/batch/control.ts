/**
 * The control page of a ring: the words by which makers, the consumer and the owner agree. Most are read and written by
 * atomic operations. Two kinds are not: words that an atomic one orders (start, poison, and all that `reset` writes), and
 * words that a message or a figure shows, or that count once their maker has ended (row, since, bytes, beat).
 * docs/concurrency.md has them all.
 */
import {
  At,
  CLAIM_BITS,
  CONTROL_BYTES,
  DECODER_FOUND,
  GENERATION_BITS,
  HELD,
  MAX_DEPTH,
  MAX_MAKERS,
  MAX_POISON,
  MAX_REDO,
  MAX_STRIDE,
  PASS_BITS,
  Word,
} from './control-words.js'
import type { SlotLayout } from './layout.js'
import { Header, Slot } from './slot.js'

/** Rows of one batch that a maker makes: one chunk, or several. */
export interface Claim {
  /** Number of its first chunk: batch × chunks + chunk. */
  number: number
  /** How many chunks it has. */
  count: number
  batch: number
  /** First row, and the row after the last. */
  from: number
  to: number
}

/** Where a ring starts: position `position` of epoch `epoch`, and how many batches it will make at most. */
export interface RingStart {
  epoch: number
  position: number
  limit: number
}

/** The page, the slots behind it, and what the owner alone sets. */
export class Control {
  /** Of the owner: whether the ring was ever put at a beginning. */
  private begun = false
  /** Of the owner: what `unopened` was before the depth was last changed. */
  private openedBelow: number | undefined
  readonly words: Int32Array
  readonly slots: Slot[]
  protected readonly heart: Float64Array
  protected readonly start: Float64Array
  protected readonly claim: BigInt64Array
  protected readonly claims: BigInt64Array
  /** The same words, by halves. */
  protected readonly halves: Int32Array
  protected readonly redo: BigInt64Array
  protected readonly poison: Float64Array
  protected readonly since: Float64Array
  protected readonly row: Int32Array
  protected readonly bytes: Float64Array

  constructor(
    readonly memory: WebAssembly.Memory,
    readonly layout: SlotLayout,
    readonly capacity: number,
  ) {
    const buffer = memory.buffer
    this.words = new Int32Array(buffer, 0, Word.Holder + MAX_DEPTH)
    this.heart = new Float64Array(buffer, At.Beat, 1)
    this.start = new Float64Array(buffer, At.Start, 3)
    this.claim = new BigInt64Array(buffer, At.Claim, 1)
    this.claims = new BigInt64Array(buffer, At.Claims, MAX_MAKERS)
    this.halves = new Int32Array(buffer, At.Claims, 2 * MAX_MAKERS)
    this.redo = new BigInt64Array(buffer, At.Redo, MAX_REDO)
    this.poison = new Float64Array(buffer, At.Poison, MAX_POISON)
    this.since = new Float64Array(buffer, At.Since, MAX_MAKERS)
    this.row = new Int32Array(buffer, At.Row, MAX_MAKERS)
    this.bytes = new Float64Array(buffer, At.Bytes, MAX_MAKERS)
    this.slots = Array.from(
      { length: capacity },
      (_, i) => new Slot(buffer, CONTROL_BYTES + i * layout.bytes, layout),
    )
  }

  /**
   * Puts the ring at its beginning. Only while it is paused and not `busy`: then plain stores will do, since a
   * maker claims nothing before it has seen the new generation. `kept` slots stay with the consumer; `version` is that of
   * the job by which it is made from now on.
   */
  reset(start: RingStart, depth: number, kept: ReadonlySet<number> = new Set(), version = 0): void {
    this.start.set([start.epoch, start.position, start.limit])
    this.claim[0] = 0n
    this.redo.fill(0n) // its count goes on: a maker may still be looking through the list
    this.poison.fill(0)
    for (const [i, { words }] of this.slots.entries()) {
      this.words[Word.Holder + i] = kept.has(i) ? HELD : 0
      if (!kept.has(i)) words[Header.Batch] = words[Header.Ready] = 0 // as release() leaves it
    }
    this.words.fill(0, Word.TableBatch, Word.Opening + MAX_DEPTH)
    this.words[Word.Depth] = depth
    this.openedBelow = undefined
    // Kept slots count as in use: batch 0 may only be opened while kept + 1 ≤ depth.
    this.words[Word.Released] = -kept.size
    this.words[Word.Poisoned] = 0
    this.words[Word.Version] = version
    this.setStride(this.begun ? this.stride : (this.layout.stride ?? 1))
    this.begun = true
    Atomics.add(this.words, Word.Generation, 1)
    Atomics.store(this.words, Word.Paused, 0)
  }

  /** Shows other processes that the engine is alive, and not stopped. */
  beat(): void {
    this.heart[0] = monotonic()
  }

  get startAt(): RingStart {
    return { epoch: this.start[0], position: this.start[1], limit: this.start[2] }
  }

  get generation(): number {
    return Atomics.load(this.words, Word.Generation)
  }

  get version(): number {
    return Atomics.load(this.words, Word.Version)
  }

  get depth(): number {
    return Atomics.load(this.words, Word.Depth)
  }

  /** By the owner alone. */
  set depth(depth: number) {
    // With the old depth makers may have opened batches up to here, or be about to.
    this.openedBelow = this.unopened
    Atomics.store(this.words, Word.Depth, Math.max(1, Math.min(this.capacity, depth)))
  }

  /** Of the owner: no maker has opened a batch from this number on (its low 32 bits). */
  private get unopened(): number {
    const now = (Atomics.load(this.words, Word.Released) + this.depth) | 0
    const before = this.openedBelow
    return before !== undefined && ((before - now) | 0) > 0 ? before : now
  }

  /**
   * Batches to be made at most, counted from the start. A plain store: the caller wakes the makers, and one that has seen
   * the wake-up sees this. One that has not makes a batch more or sleeps; both are right.
   */
  set limit(batches: number) {
    this.start[2] = batches
  }

  /** Stops the handing out of claims; those already out are finished. */
  pause(): void {
    Atomics.store(this.words, Word.Paused, 1)
  }

  get paused(): boolean {
    return Atomics.load(this.words, Word.Paused) === 1
  }

  /** Whether any maker still holds a claim, or is about to take one. */
  get busy(): boolean {
    for (let i = 0; i < MAX_MAKERS; i++) if (Atomics.load(this.claims, i) !== 0n) return true
    return false
  }

  /** Chunks that are claimed together, from some batch on. */
  get stride(): number {
    return (Atomics.load(this.words, Word.Stride) & 127) + 1
  }

  /** Chunks that are claimed together in a batch. */
  protected strideOf(batch: number): number {
    const word = Atomics.load(this.words, Word.Stride)
    const before = ((batch - (word >>> 14)) & 0x3ffff) >= 0x20000
    return ((before ? word >>> 7 : word) & 127) + 1
  }

  /**
   * Claims have so many chunks, from the first batch on that no maker can have opened yet: only the owner gives slots back, and
   * it is here. False: an earlier change has not come to its batch yet; ask again in a moment.
   */
  changeStride(chunks: number): boolean {
    if (!this.settleStride()) return false
    const most = Math.min(MAX_STRIDE, this.layout.chunks)
    const wanted = Math.max(1, Math.min(most, chunks)) - 1
    const from = this.unopened & 0x3ffff
    Atomics.store(this.words, Word.Stride, (from << 14) | ((this.stride - 1) << 7) | wanted)
    return true
  }

  /** Forgets what was before the last change. False: there are still batches of that time. */
  settleStride(): boolean {
    const word = Atomics.load(this.words, Word.Stride)
    if ((word & 127) === ((word >>> 7) & 127)) return true
    const released = Atomics.load(this.words, Word.Released)
    if (((released - (word >>> 14)) & 0x3ffff) >= 0x20000) return false
    this.setStride(this.stride)
    return true
  }

  /** For all batches. Only while no maker claims. */
  private setStride(chunks: number): void {
    Atomics.store(this.words, Word.Stride, ((chunks - 1) << 7) | (chunks - 1))
  }

  /** Workers that take claims at present: it says how far ahead of them the stores are told what comes. */
  get makers(): number {
    return Math.max(1, Atomics.load(this.words, Word.Makers))
  }

  set makers(makers: number) {
    Atomics.store(this.words, Word.Makers, makers)
  }

  /** Who is to decode images: twentieths of them for the CPU, and whether that is decided. Undefined: as it is. */
  get decoder(): { twentieths: number; found: boolean } | undefined {
    const word = Atomics.load(this.words, Word.Decoder)
    if (word === 0) return undefined
    return { twentieths: (word & (DECODER_FOUND - 1)) - 1, found: word >= DECODER_FOUND }
  }

  askDecoder(twentieths: number, found: boolean): void {
    Atomics.store(this.words, Word.Decoder, 1 + twentieths + (found ? DECODER_FOUND : 0))
  }

  /** Rows beyond theirs that are hinted. */
  get ahead(): number {
    return Atomics.load(this.words, Word.Ahead) || ROWS_AHEAD
  }

  set ahead(rows: number) {
    Atomics.store(this.words, Word.Ahead, rows)
  }

  /** The claim that a word of the page means. */
  protected describe(word: bigint): Claim {
    const { chunks, chunkRows, rows } = this.layout
    const number = Number(numberIn(word)) - 1
    const count = Number(word >> COUNT_AT) + 1
    const batch = Math.floor(number / chunks)
    const from = (number - batch * chunks) * chunkRows
    return { number, count, batch, from, to: Math.min(rows, from + count * chunkRows) }
  }
}

/** With 16 reads in flight an SSD is busy; a claim may end early. */
const ROWS_AHEAD = 32

/** Where the generation and the number of chunks begin in a claim's word. */
const GENERATION_AT = CLAIM_BITS + PASS_BITS
const COUNT_AT = GENERATION_AT + GENERATION_BITS

/** Parts of a claim's word, to be added: made once, since numbers of 64 bits are slow to make. */
const COUNTS = Array.from({ length: MAX_STRIDE }, (_, more) => BigInt(more) << COUNT_AT)
const GENERATIONS = Array.from({ length: 256 }, (_, generation) => BigInt(generation) << GENERATION_AT)

/** The word of a claim that begins with chunk `number`. */
export function claimWord(number: bigint, count: number, generation: number, pass = 0): bigint {
  const word = number + 1n + COUNTS[count - 1] + GENERATIONS[generation & 255]
  return pass === 0 ? word : word + (BigInt(pass & 255) << CLAIM_BITS)
}

/** The generation of a claim's word, modulo 256. */
export function generationIn(word: bigint): number {
  return Number(BigInt.asUintN(Number(GENERATION_BITS), word >> GENERATION_AT))
}

/** The number of its first chunk + 1, in a claim's word. */
export function numberIn(word: bigint): bigint {
  return BigInt.asUintN(Number(CLAIM_BITS), word)
}

/** How often the batch was begun again before this claim of it. */
export function passIn(word: bigint): number {
  return Number(BigInt.asUintN(Number(PASS_BITS), word >> CLAIM_BITS))
}

/** CLOCK_MONOTONIC in seconds. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds + nanoseconds / 1e9
}
