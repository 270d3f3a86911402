/**
 * Claims: how makers divide the work without a scheduler. A claim is one or more chunks of rows of one batch; claims are handed
 * out in order, by one atomic operation. A batch may be opened while fewer than `depth` slots are in use: that is the
 * back-pressure. What a dead maker held waits in the redo list, for the next maker. docs/concurrency.md has the rules.
 */
import { type Claim, Control, claimWord, monotonic } from './control.js'
import { HELD, MAX_DEPTH, MAX_POISON, MAX_REDO, Word } from './control-words.js'
import { Header, OF_BATCH, PASS, type Slot, Stamp } from './slot.js'

export class Claims extends Control {
  /** Takes the next rows, or undefined when there is none to take now. */
  next(maker: number): Claim | undefined {
    if (Atomics.load(this.words, Word.Redo) !== Atomics.load(this.words, Word.RedoSeen)) {
      const again = this.nextRedo(maker)
      if (again !== undefined) return again
    }
    for (;;) {
      const { generation } = this
      const number = Atomics.load(this.claim, 0)
      const { chunks } = this.layout
      const batch = Math.floor(Number(number) / chunks)
      if (!this.mayOpen(batch)) break
      const count = Math.min(this.strideOf(batch), (batch + 1) * chunks - Number(number))
      const word = claimWord(number, count, generation)
      // The intention is written before the claim is taken: if this maker dies in between, the owner sees it.
      Atomics.store(this.claims, maker, -word)
      if (this.paused) break
      if (this.generation !== generation) continue // moved in between: that number means another batch now
      if (Atomics.compareExchange(this.claim, 0, number, number + BigInt(count)) === number)
        return this.took(maker, word)
    }
    Atomics.store(this.claims, maker, 0n)
    return undefined
  }

  /** Batches made or being made that the consumer has not given back: how well fed this ring is. */
  get inUse(): number {
    const next = Math.floor(Number(Atomics.load(this.claim, 0)) / this.layout.chunks)
    return ((next | 0) - Atomics.load(this.words, Word.Released)) | 0
  }

  /** Whether more is to be made, and no slot is free for it. */
  get full(): boolean {
    const next = Math.floor(Number(Atomics.load(this.claim, 0)) / this.layout.chunks)
    return !this.paused && next < this.start[2] && !this.mayOpen(next)
  }

  /**
   * The slot of a claim's batch. The first maker that comes opens it with `open`; others wait the moment this takes.
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
        if (Atomics.load(this.words, Word.TableBatch + place) !== name) this.open(place, name, maker, open)
        Atomics.store(this.words, Word.Opening + place, 0)
        Atomics.notify(this.words, Word.TableBatch + place)
      } else {
        Atomics.wait(this.words, Word.TableBatch + place, seen, 10)
      }
    }
  }

  private open(place: number, name: number, maker: number, open: (slot: Slot) => void): void {
    const index = this.takeFree(maker)
    const slot = this.slots[index]
    slot.clear()
    slot.words[Header.Batch] = name
    slot.words[Header.Closer] = ofBatch(name - 1)
    open(slot)
    Atomics.store(this.words, Word.TableSlot + place, index)
    Atomics.store(this.words, Word.TableBatch + place, name)
    Atomics.store(this.words, Word.Holder + index, HELD)
  }

  /** Notes which row a maker is at, so that a hung or deadly sample can be named. */
  at(maker: number, row: number): void {
    this.row[maker] = row
    this.since[maker] = Date.now()
  }

  /** Adds to what a maker has read. Added, since another may have had its number before. */
  book(maker: number, bytesRead: number): void {
    this.bytes[maker] += bytesRead
  }

  get bytesRead(): number {
    return this.bytes.reduce((sum, n) => sum + n, 0)
  }

  /** Marks a claim as made. True: it was the batch's last one, and this maker has to close the batch. */
  finish(claim: Claim, slot: Slot): boolean {
    const { chunks } = this.layout
    const chunk = claim.number - claim.batch * chunks
    // The first chunk comes last: where it is done, all of the claim is, also of one whose maker dies here.
    for (let i = claim.count - 1; i > 0; i--) Atomics.store(slot.done, chunk + i, 1)
    if (Atomics.exchange(slot.done, chunk, 1) === 1) return false
    for (let i = claim.count; i < chunks; i++)
      if (Atomics.load(slot.done, (chunk + i) % chunks) === 0) return false
    // All are made: of those that see it one closes the batch. By now that may have happened, and the slot have another batch.
    const open = Atomics.load(slot.words, Header.Closer) & ~((1 << PASS) - 1)
    if (open >>> OF_BATCH !== ofBatch(claim.batch) >>> OF_BATCH) return false
    return Atomics.compareExchange(slot.words, Header.Closer, open, open | (chunk + 1)) === open
  }

  /** Makes a closed batch visible to the consumer. */
  publish(slot: Slot): void {
    slot.stamps[Stamp.Completed] = monotonic()
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
  giveBack(maker: number): void {
    const word = Atomics.load(this.claims, maker)
    // From here on it is only intended: if this maker dies before it has dropped it, another may have it already.
    Atomics.store(this.claims, maker, -word)
    this.again(word)
    this.drop(maker)
  }

  /** Whether any row has killed two makers. */
  get hasPoison(): boolean {
    return Atomics.load(this.words, Word.Poisoned) > 0
  }

  /** Whether a row has killed two makers already. */
  poisoned(batch: number, row: number): boolean {
    const count = Math.min(MAX_POISON, Atomics.load(this.words, Word.Poisoned))
    for (let i = 0; i < count; i++) if (this.poison[i] === batch * this.layout.rows + row) return true
    return false
  }

  protected again(word: bigint): void {
    for (let i = 0; i < MAX_REDO; i++) {
      if (Atomics.compareExchange(this.redo, i, 0n, word) === 0n) {
        Atomics.add(this.words, Word.Redo, 1)
        return
      }
    }
  }

  protected nextRedo(maker: number): Claim | undefined {
    const added = Atomics.load(this.words, Word.Redo)
    for (let i = 0; i < MAX_REDO; i++) {
      const word = Atomics.load(this.redo, i)
      if (word === 0n) continue
      Atomics.store(this.claims, maker, -word)
      // As for any claim: the owner does not move the ring while a maker is about to take one.
      if (!this.paused && Atomics.compareExchange(this.redo, i, word, 0n) === word)
        return this.took(maker, word)
      Atomics.store(this.claims, maker, 0n)
      if (this.paused) return undefined
    }
    // What is added from now on is counted anew.
    Atomics.store(this.words, Word.RedoSeen, added)
    return undefined
  }

  /** Books a claim that a maker has taken. */
  private took(maker: number, word: bigint): Claim {
    Atomics.store(this.claims, maker, word)
    return this.describe(word)
  }

  private mayOpen(batch: number): boolean {
    if (batch >= this.start[2]) return false
    const inUse = ((batch | 0) - Atomics.load(this.words, Word.Released)) | 0
    return inUse < Atomics.load(this.words, Word.Depth)
  }

  /** Takes the first free slot. There is one: no more batches are opened than there are slots. */
  private takeFree(maker: number): number {
    for (;;) {
      for (let slot = 0; slot < this.capacity; slot++) {
        if (Atomics.load(this.words, Word.Holder + slot) !== 0) continue
        if (Atomics.compareExchange(this.words, Word.Holder + slot, 0, maker + 1) === 0) return slot
      }
    }
  }
}

/** The word `Closer` of a batch that is not closed. */
export function ofBatch(batch: number): number {
  return batch << OF_BATCH
}
