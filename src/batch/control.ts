/**
 * The control page of a ring: the words by which makers, the consumer and the owner agree. Everything that changes
 * while they run is read and written by atomic operations.
 */
import { MAX_CHUNKS, type SlotLayout } from './layout.js'
import { Slot } from './slot.js'

export const CONTROL_BYTES = 65536
/** Free slots are bits of one 32-bit word. */
export const MAX_DEPTH = 32
export const MAX_MAKERS = 256
/** All chunks of a batch can wait to be made again. */
export const MAX_REDO = MAX_CHUNKS
/** Poisoned rows that are remembered: of old ones the batches are long delivered. */
export const MAX_POISON = 32

/** 32-bit words of the control page. */
export const Word = {
  /** Slots that may be in use. Can change while running. */
  Depth: 0,
  /** Slots given back so far (wraps). */
  Released: 1,
  /** Bits of the free slots. */
  Free: 2,
  /** Batches closed so far (wraps); the consumer waits on it. */
  Completed: 3,
  /** 1 while nothing may be claimed: the ring is being moved or closed. */
  Paused: 4,
  /** Counts moves of the ring: makers then read the start anew. */
  Generation: 5,
  /** How many claims wait to be made again, and how many rows are poisoned. */
  Redo: 6,
  Poisoned: 7,
  /** Version of the job that makers must have: another order came with it. */
  Version: 8,
  /** Slot and (low bits of batch number + 1) of each opened batch, by batch modulo MAX_DEPTH. */
  TableSlot: 32,
  TableBatch: 64,
  /** Maker + 1 while it opens the batch of that place; and, from OPENING_SLOT on, slot + 1 once it has taken one. */
  Opening: 96,
} as const

/** A claim's word: its number + 1, and above that many bits how often its batch was begun again. */
export const CLAIM_BITS = 48n

/** Bits of a word `Opening` below the slot's. */
export const OPENING_SLOT = 16

// Byte offsets of the wider columns of the control page.
const BEAT_AT = 640 // f64: CLOCK_MONOTONIC of the engine, in seconds
const START_AT = 1024 // f64: epoch, position, limit
const CLAIM_AT = 1088 // i64: next claim
const CLAIMS_AT = 2048 // i64[MAX_MAKERS]: what each maker holds, a claim's word; negative while it is about to take it
const POISON_AT = 4608 // f64[MAX_POISON]: rows that killed two makers, as batch × rows + row
const SINCE_AT = 8192 // f64[MAX_MAKERS]: when each maker began its present row, in ms since 1970
const ROW_AT = 10240 // i32[MAX_MAKERS]: which row of its batch that is
const BYTES_AT = 12288 // f64[MAX_MAKERS]: bytes that each maker has read
const REDO_AT = 16384 // i64[MAX_REDO]: claims to be made again

/** A chunk of rows of one batch. */
export interface Claim {
  /** Number of the claim: batch × chunks + chunk. */
  number: number
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
  readonly words: Int32Array
  readonly slots: Slot[]
  protected readonly heart: Float64Array
  protected readonly start: Float64Array
  protected readonly claim: BigInt64Array
  protected readonly claims: BigInt64Array
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
    this.words = new Int32Array(buffer, 0, 128)
    this.heart = new Float64Array(buffer, BEAT_AT, 1)
    this.start = new Float64Array(buffer, START_AT, 3)
    this.claim = new BigInt64Array(buffer, CLAIM_AT, 1)
    this.claims = new BigInt64Array(buffer, CLAIMS_AT, MAX_MAKERS)
    this.redo = new BigInt64Array(buffer, REDO_AT, MAX_REDO)
    this.poison = new Float64Array(buffer, POISON_AT, MAX_POISON)
    this.since = new Float64Array(buffer, SINCE_AT, MAX_MAKERS)
    this.row = new Int32Array(buffer, ROW_AT, MAX_MAKERS)
    this.bytes = new Float64Array(buffer, BYTES_AT, MAX_MAKERS)
    this.slots = Array.from(
      { length: capacity },
      (_, i) => new Slot(buffer, CONTROL_BYTES + i * layout.bytes, layout),
    )
  }

  /**
   * Puts the ring at its beginning. Only while no maker holds a claim. `kept` slots stay with the consumer; `version`
   * is that of the job by which it is made from now on.
   */
  reset(start: RingStart, depth: number, kept: ReadonlySet<number> = new Set(), version = 0): void {
    this.start.set([start.epoch, start.position, start.limit])
    this.claim[0] = 0n
    this.redo.fill(0n)
    this.poison.fill(0)
    let free = 0
    for (let i = 0; i < this.capacity; i++) if (!kept.has(i)) free |= 1 << i
    this.words.fill(0, Word.TableBatch, Word.Opening + MAX_DEPTH)
    this.words[Word.Free] = free
    this.words[Word.Depth] = depth
    // Kept slots count as in use: batch 0 may only be opened while kept + 1 ≤ depth.
    this.words[Word.Released] = -kept.size
    this.words[Word.Redo] = 0
    this.words[Word.Poisoned] = 0
    this.words[Word.Version] = version
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

  set depth(depth: number) {
    Atomics.store(this.words, Word.Depth, Math.max(1, Math.min(this.capacity, depth)))
  }

  /** Batches to be made at most, counted from the start. */
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

  /** Whether any maker still holds a claim. */
  get busy(): boolean {
    for (let i = 0; i < MAX_MAKERS; i++) if (Atomics.load(this.claims, i) !== 0n) return true
    return false
  }

  /** The claim that a word of the page means. */
  protected describe(word: bigint): Claim {
    const { chunks, chunkRows, rows } = this.layout
    const number = Number(BigInt.asUintN(Number(CLAIM_BITS), word)) - 1
    const batch = Math.floor(number / chunks)
    const from = (number % chunks) * chunkRows
    return { number, batch, from, to: Math.min(rows, from + chunkRows) }
  }
}

/** CLOCK_MONOTONIC in seconds. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds + nanoseconds / 1e9
}
