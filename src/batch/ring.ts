/**
 * A ring: the slots of one (feed, rank), and the words by which makers and the consumer agree without a
 * scheduler. Everything here is an atomic operation on memory that all threads of the process see.
 *
 *   memory ┬ control  64 KiB: the words below
 *          ├ slots    capacity × layout.bytes   (memfd, mapped over the memory)
 *          └ workspaces, one a maker            (private pages of the process)
 *
 * Batches are numbered 0, 1, 2, … from where the ring started. A claim is a chunk of rows of one batch; claims are
 * handed out in order. A batch may be opened while fewer than `depth` slots are in use: that is the back-pressure.
 * Free slots are bits of one word, so slots are handed out in the order of batches and come back in any order.
 */
import { MAX_CHUNKS, type SlotLayout } from './layout.js'
import { Header, Slot, Stamp } from './slot.js'

export const CONTROL_BYTES = 65536
/** Free slots are bits of one 32-bit word. */
export const MAX_DEPTH = 32
export const MAX_MAKERS = 256
/** All chunks of a batch can wait to be made again. */
const MAX_REDO = MAX_CHUNKS
/** Poisoned rows that are remembered: of old ones the batches are long delivered. */
const MAX_POISON = 32

/** 32-bit words of the control page. */
const Word = {
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
  /** Maker + 1 while it opens the batch of that place. */
  Opening: 96,
} as const

// Byte offsets of the wider columns of the control page.
const BEAT_AT = 640 // f64: CLOCK_MONOTONIC of the engine, in seconds
const START_AT = 1024 // f64: epoch, position, limit
const CLAIM_AT = 1088 // i64: next claim
const CLAIMS_AT = 2048 // i64[MAX_MAKERS]: what each maker holds, + 1
const POISON_AT = 4608 // f64[MAX_POISON]: rows that killed two makers, as batch × rows + row
const SINCE_AT = 8192 // f64[MAX_MAKERS]: when each maker began its present row, in ms since 1970
const ROW_AT = 10240 // i32[MAX_MAKERS]: which row of its batch that is
const BYTES_AT = 12288 // f64[MAX_MAKERS]: bytes that each maker has read
const REDO_AT = 16384 // i64[MAX_REDO]: claims to be made again, + 1

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

export class Ring {
  readonly words: Int32Array
  readonly slots: Slot[]
  private readonly heart: Float64Array
  private readonly start: Float64Array
  private readonly claim: BigInt64Array
  private readonly claims: BigInt64Array
  private readonly redo: BigInt64Array
  private readonly poison: Float64Array
  private readonly since: Float64Array
  private readonly row: Int32Array
  private readonly bytes: Float64Array

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

  // ---------------------------------------------------------------- set up, by the owner alone

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
    this.heart[0] = Number(process.hrtime.bigint() / 1000n) / 1e6
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

  // ---------------------------------------------------------------- makers

  /** Takes the next chunk of rows, or undefined when there is none to take now. */
  next(maker: number): Claim | undefined {
    if (Atomics.load(this.words, Word.Redo) > 0) {
      const again = this.nextRedo(maker)
      if (again !== undefined) return again
    }
    for (;;) {
      const { generation } = this
      const number = Atomics.load(this.claim, 0)
      const batch = Math.floor(Number(number) / this.layout.chunks)
      if (!this.mayOpen(batch)) break
      // The intention is written before the claim is taken: if this maker dies in between, the owner sees it.
      Atomics.store(this.claims, maker, number + 1n)
      if (this.paused) break
      if (this.generation !== generation) continue // moved in between: that number means another batch now
      if (Atomics.compareExchange(this.claim, 0, number, number + 1n) === number)
        return this.describe(Number(number))
    }
    Atomics.store(this.claims, maker, 0n)
    return undefined
  }

  /** Batches made or being made that the consumer has not given back: how well fed this ring is. */
  get inUse(): number {
    const next = Math.floor(Number(Atomics.load(this.claim, 0)) / this.layout.chunks)
    return ((next | 0) - Atomics.load(this.words, Word.Released)) | 0
  }

  /**
   * The slot of a claim's batch. Whoever comes first opens it with `open`; others wait the moment this takes.
   * Undefined when the ring was paused meanwhile: then the claim is void.
   */
  slotOf(claim: Claim, maker: number, open: (slot: Slot) => void): Slot | undefined {
    const place = claim.batch % MAX_DEPTH
    const name = (claim.batch + 1) | 0
    for (;;) {
      const seen = Atomics.load(this.words, Word.TableBatch + place)
      if (seen === name) return this.slots[Atomics.load(this.words, Word.TableSlot + place)]
      if (this.paused) return undefined
      if (Atomics.compareExchange(this.words, Word.Opening + place, 0, maker + 1) === 0) {
        if (Atomics.load(this.words, Word.TableBatch + place) !== name) this.open(place, name, open)
        Atomics.store(this.words, Word.Opening + place, 0)
        Atomics.notify(this.words, Word.TableBatch + place)
      } else {
        Atomics.wait(this.words, Word.TableBatch + place, seen, 10)
      }
    }
  }

  private open(place: number, name: number, open: (slot: Slot) => void): void {
    const index = this.takeFree()
    const slot = this.slots[index]
    slot.clear()
    open(slot)
    Atomics.store(this.words, Word.TableSlot + place, index)
    Atomics.store(this.words, Word.TableBatch + place, name)
  }

  /** Notes which row a maker is at, so that a hung or deadly sample can be named. */
  at(maker: number, row: number): void {
    this.row[maker] = row
    this.since[maker] = Date.now()
  }

  /** Books what a maker has read since it began. */
  book(maker: number, bytesRead: number): void {
    this.bytes[maker] = bytesRead
  }

  get bytesRead(): number {
    return this.bytes.reduce((sum, n) => sum + n, 0)
  }

  /** Marks a claim as made. True for whoever finished the batch's last chunk, and has to close it. */
  finish(claim: Claim, slot: Slot): boolean {
    const chunk = claim.number % this.layout.chunks
    if (Atomics.exchange(slot.done, chunk, 1) === 1) return false
    return Atomics.sub(slot.words, Header.Remaining, 1) === 1
  }

  /** Makes a closed batch visible to the consumer. */
  publish(slot: Slot): void {
    Atomics.store(slot.words, Header.Ready, 1)
    Atomics.add(this.words, Word.Completed, 1)
    Atomics.notify(this.words, Word.Completed)
  }

  /** Gives a claim back, when its rows are made and its batch, if it was the last, is published. */
  drop(maker: number): void {
    Atomics.store(this.claims, maker, 0n)
    this.since[maker] = 0
  }

  /** Gives a claim back unmade, for another maker. */
  giveBack(claim: Claim, maker: number): void {
    this.again(claim.number)
    this.drop(maker)
  }

  /** Whether a row has killed two makers already. */
  poisoned(batch: number, row: number): boolean {
    const count = Math.min(MAX_POISON, Atomics.load(this.words, Word.Poisoned))
    for (let i = 0; i < count; i++) if (this.poison[i] === batch * this.layout.rows + row) return true
    return false
  }

  // ---------------------------------------------------------------- the consumer

  /** The slot of a batch that has been opened, or undefined. */
  opened(batch: number): number | undefined {
    const place = batch % MAX_DEPTH
    if (Atomics.load(this.words, Word.TableBatch + place) !== ((batch + 1) | 0)) return undefined
    return Atomics.load(this.words, Word.TableSlot + place)
  }

  /** The slot of a batch that is ready, or undefined. */
  ready(batch: number): number | undefined {
    const index = this.opened(batch)
    return index !== undefined && Atomics.load(this.slots[index].words, Header.Ready) === 1
      ? index
      : undefined
  }

  /** For waiting until another batch is closed: the word, its index, and the value seen. */
  get completed(): [Int32Array, number, number] {
    return [this.words, Word.Completed, Atomics.load(this.words, Word.Completed)]
  }

  /** Gives a slot back. The caller wakes the makers. */
  release(index: number): void {
    Atomics.store(this.slots[index].words, Header.Ready, 0)
    Atomics.or(this.words, Word.Free, 1 << index)
    Atomics.add(this.words, Word.Released, 1)
  }

  /** What a maker holds, and for how long it has been at its present row. */
  held(maker: number): { claim: Claim; row: number; since: number } | undefined {
    const number = Atomics.load(this.claims, maker)
    if (number === 0n) return undefined
    return { claim: this.describe(Number(number) - 1), row: this.row[maker], since: this.since[maker] }
  }

  // ---------------------------------------------------------------- recovery, by the owner alone

  /**
   * A maker is dead: what it held has to be made again by another. Returns the claim, if it held one. A claim that
   * was only intended (someone else has it, or nobody yet) is left alone.
   */
  abandon(maker: number): Claim | undefined {
    const number = Atomics.exchange(this.claims, maker, 0n)
    this.since[maker] = 0
    for (let i = 0; i < MAX_DEPTH; i++) Atomics.compareExchange(this.words, Word.Opening + i, maker + 1, 0)
    if (number === 0n || number - 1n >= Atomics.load(this.claim, 0)) return undefined
    for (let i = 0; i < MAX_MAKERS; i++) if (Atomics.load(this.claims, i) === number) return undefined
    const claim = this.describe(Number(number) - 1)
    const place = claim.batch % MAX_DEPTH
    if (Atomics.load(this.words, Word.TableBatch + place) === ((claim.batch + 1) | 0)) {
      const slot = this.slots[Atomics.load(this.words, Word.TableSlot + place)]
      if (Atomics.load(slot.words, Header.Ready) === 1) return undefined
      if (Atomics.load(slot.words, Header.Remaining) === 0) {
        // It died while closing: rows may have been moved already, so the whole batch is made again.
        const [planned, valid] = [slot.words[Header.Planned], slot.words[Header.Valid]]
        const stamps = slot.stamps.slice(Stamp.NextEpoch)
        slot.clear()
        slot.words[Header.Planned] = planned
        slot.words[Header.Valid] = valid
        slot.stamps.set(stamps, Stamp.NextEpoch)
        for (let chunk = 0; chunk < this.layout.chunks; chunk++)
          this.again(claim.batch * this.layout.chunks + chunk)
        return claim
      }
      if (Atomics.load(slot.done, claim.number % this.layout.chunks) === 1) return undefined
    }
    this.again(claim.number)
    return claim
  }

  /** From now on nobody tries this row again: it is bad. */
  poisonRow(batch: number, row: number): void {
    const count = Atomics.load(this.words, Word.Poisoned)
    this.poison[count % MAX_POISON] = batch * this.layout.rows + row
    Atomics.store(this.words, Word.Poisoned, count + 1)
  }

  private again(number: number): void {
    for (let i = 0; i < MAX_REDO; i++) {
      if (Atomics.compareExchange(this.redo, i, 0n, BigInt(number) + 1n) === 0n) {
        Atomics.add(this.words, Word.Redo, 1)
        return
      }
    }
  }

  private nextRedo(maker: number): Claim | undefined {
    for (let i = 0; i < MAX_REDO; i++) {
      const number = Atomics.load(this.redo, i)
      if (number === 0n) continue
      Atomics.store(this.claims, maker, number)
      if (Atomics.compareExchange(this.redo, i, number, 0n) === number) {
        Atomics.sub(this.words, Word.Redo, 1)
        return this.describe(Number(number) - 1)
      }
      Atomics.store(this.claims, maker, 0n)
    }
    return undefined
  }

  private mayOpen(batch: number): boolean {
    if (batch >= this.start[2]) return false
    const inUse = ((batch | 0) - Atomics.load(this.words, Word.Released)) | 0
    return inUse < Atomics.load(this.words, Word.Depth)
  }

  private takeFree(): number {
    for (;;) {
      const free = Atomics.load(this.words, Word.Free)
      const bit = free & -free
      if (bit !== 0 && Atomics.compareExchange(this.words, Word.Free, free, free & ~bit) === free) {
        return 31 - Math.clz32(bit)
      }
    }
  }

  private describe(number: number): Claim {
    const { chunks, chunkRows, rows } = this.layout
    const batch = Math.floor(number / chunks)
    const from = (number % chunks) * chunkRows
    return { number, batch, from, to: Math.min(rows, from + chunkRows) }
  }
}
