/**
 * A ring: the slots of one (feed, rank), and the words by which makers and the consumer agree without a
 * scheduler. docs/concurrency.md says who writes each word, and in which order.
 *
 *   memory ┬ control  64 KiB: the words of control-words.ts
 *          ├ slots    capacity × layout.bytes   (memfd, mapped over the memory)
 *          └ workspaces, one a maker            (private pages of the process)
 *
 *   control.ts   views of the words, and what the owner sets: start, depth, pause
 *   claims.ts    the makers' side
 *   ring.ts      the consumer's side, and what is done when a maker dies
 *
 * Batches are numbered 0, 1, 2, … from where the ring started. Slots are taken lowest first, and come
 * back in any order.
 */
import { Claims, ofBatch } from './claims.js'
import { type Claim, claimWord, generationIn, numberIn, passIn } from './control.js'
import { HELD, MAX_DEPTH, MAX_MAKERS, MAX_POISON, MAX_REDO, Word } from './control-words.js'
import { Header, PASS, type Slot, Stamp } from './slot.js'

export type { Claim, RingStart } from './control.js'
export { CONTROL_BYTES, MAX_DEPTH, MAX_MAKERS } from './control-words.js'

/** Whether a dead maker had a claim can't be told yet. */
export const UNDECIDED = Symbol('undecided')

export class Ring extends Claims {
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

  /** Whether a slot has a batch that is ready: it is neither free nor being filled. */
  filled(index: number): boolean {
    if (Atomics.load(this.words, Word.Holder + index) !== HELD) return false
    return Atomics.load(this.slots[index].words, Header.Ready) === 1
  }

  /**
   * Waits for a batch in the calling thread, for at most so many ms. Being woken through the event loop takes some 20 µs of CPU
   * time: as long as small batches take to make. Undefined: it was not ready by then, or `ended` says that it never will be.
   */
  waitHere(batch: number, most: number, ended: () => boolean): number | undefined {
    const until = performance.now() + most
    for (;;) {
      const [words, index, seen] = this.completed
      const slot = this.ready(batch)
      if (slot !== undefined) return slot
      const left = until - performance.now()
      if (left <= 0 || ended()) return undefined
      Atomics.wait(words, index, seen, left)
    }
  }

  /** Slots by what is in them; batches before `handed` were given to the consumer. */
  slotsInUse(handed: number): { ready: number; filling: number; held: number } {
    const found = { ready: 0, filling: 0, held: 0 }
    for (const [index, { words }] of this.slots.entries()) {
      if (Atomics.load(this.words, Word.Holder + index) === 0) continue
      const batch = Atomics.load(words, Header.Batch) - 1
      if (Atomics.load(words, Header.Ready) !== 1) found.filling++
      else if (batch < handed) found.held++
      else found.ready++
    }
    return found
  }

  /** For waiting until another batch is closed: the word, its index, and the value seen. */
  get completed(): [Int32Array, number, number] {
    return [this.words, Word.Completed, Atomics.load(this.words, Word.Completed)]
  }

  /** Gives a slot back. The caller wakes the makers. */
  release(index: number): void {
    const { words } = this.slots[index]
    Atomics.store(words, Header.Batch, 0)
    Atomics.store(words, Header.Ready, 0)
    Atomics.store(this.words, Word.Holder + index, 0)
    Atomics.add(this.words, Word.Released, 1)
  }

  /** What a maker holds, and for how long it has been at its present row. */
  held(maker: number): { claim: Claim; row: number; since: number } | undefined {
    const number = Atomics.load(this.claims, maker)
    if (number <= 0n) return undefined
    return { claim: this.describe(number), row: this.row[maker], since: this.since[maker] }
  }

  /** The earliest batch that may have rows to be made: of all claims that are held, intended, or wait to be made again. */
  get oldest(): number {
    let oldest = Atomics.load(this.claim, 0) + 1n
    const look = (word: bigint): void => {
      const number = numberIn(word < 0n ? -word : word)
      if (word !== 0n && number < oldest) oldest = number
    }
    // Most words are 0, and halves of a word are read without making a number of it: this is done for every claim.
    const { halves } = this
    for (let i = 0; i < halves.length; i += 2)
      if ((halves[i] | halves[i + 1]) !== 0) look(Atomics.load(this.claims, i >> 1))
    if (Atomics.load(this.words, Word.Redo) !== Atomics.load(this.words, Word.RedoSeen))
      for (let i = 0; i < MAX_REDO; i++) look(Atomics.load(this.redo, i))
    // What the consumer has given back is made: a thread that sleeps with an old intention does not count.
    const next = Math.floor(Number(Atomics.load(this.claim, 0)) / this.layout.chunks)
    return Math.max(this.describe(oldest).batch, next - this.inUse)
  }

  // ---------------------------------------------------------------- recovery, by the owner alone

  /**
   * A maker is dead: what it held has to be made again by another. Returns the claim, if it held one. A claim that
   * was only intended (another has it, or none yet) is left alone, and so is one that was finished: by now its
   * batch may be delivered, and its slot have another. UNDECIDED: ask again in a moment; `lives` tells which makers are
   * not dead.
   */
  abandon(
    maker: number,
    lives: (maker: number) => boolean = () => false,
  ): Claim | typeof UNDECIDED | undefined {
    const held = Atomics.load(this.claims, maker)
    if (held === 0n) return undefined
    const word = held < 0n ? -held : held
    const claim = this.describe(word)
    const had = held > 0n || (this.isPresent(word) && this.hadTaken(word, maker, lives))
    const lost = had === true ? this.lost(word, claim, maker, lives) : had
    if (lost === UNDECIDED) return UNDECIDED
    Atomics.store(this.claims, maker, 0n)
    this.since[maker] = 0
    this.endOpening(maker, claim.batch)
    // It may have put the claim on the list, and not have counted it.
    if (held < 0n) Atomics.add(this.words, Word.Redo, 1)
    if (lost === false) return undefined
    if (lost === 'claim') this.again(word)
    else this.beginAgain(lost, claim.batch)
    return claim
  }

  /** What is lost with a maker that held a claim: the claim; the whole batch, which it was closing, in its slot; nothing. */
  private lost(
    word: bigint,
    { batch, number }: Claim,
    maker: number,
    lives: (maker: number) => boolean,
  ): 'claim' | Slot | false | typeof UNDECIDED {
    const place = batch % MAX_DEPTH
    const name = (batch + 1) | 0
    const seen = Atomics.load(this.words, Word.TableBatch + place)
    // A later batch may have its place.
    if (seen !== name) return seen !== 0 && ((seen - name) | 0) > 0 ? false : 'claim'
    const slot = this.slots[Atomics.load(this.words, Word.TableSlot + place)]
    if (Atomics.load(slot.words, Header.Batch) !== name) return false // given back
    if (Atomics.load(slot.words, Header.Ready) === 1) return false
    const pass = Atomics.load(slot.words, Header.Closer) >> PASS
    if ((pass & 255) !== passIn(word)) return false // finished, before all was made again
    const chunk = number % this.layout.chunks
    if (Atomics.load(slot.done, chunk) === 0) return 'claim'
    if (slot.done.some((_, i) => Atomics.load(slot.done, i) === 0)) return false
    // First this: a maker that holds nothing any more has said whether it closes the batch.
    const others = this.makersOf(batch).filter(other => other !== maker)
    const by = Atomics.load(slot.words, Header.Closer) & ((1 << PASS) - 1)
    if (by !== 0) return by === chunk + 1 ? slot : false
    if (others.some(lives)) return UNDECIDED
    // Of several dead ones the last to be looked at decides.
    return others.length > 0 ? false : slot
  }

  /** Whether a claim is one of the present generation. One that was meant for an earlier one was never taken: see `next`. */
  private isPresent(word: bigint): boolean {
    return generationIn(word) === (this.generation & 255)
  }

  /**
   * Whether a dead maker had taken a claim that it was about to take: it has been taken, and no other has it. Another
   * that is about to take the same one has it, too, or finds in a moment that it is gone: UNDECIDED until then.
   */
  private hadTaken(
    word: bigint,
    maker: number,
    lives: (maker: number) => boolean,
  ): boolean | typeof UNDECIDED {
    if (numberIn(word) > Atomics.load(this.claim, 0) && passIn(word) === 0) return false
    for (;;) {
      const added = Atomics.load(this.words, Word.Redo)
      if (this.waitsAgain(word)) return false
      for (let other = 0; other < MAX_MAKERS; other++) {
        const held = Atomics.load(this.claims, other)
        if (other === maker || (held !== word && held !== -word)) continue
        // Of several dead ones the last to be looked at decides.
        return held === -word && lives(other) ? UNDECIDED : false
      }
      // Where a claim was given back meanwhile, it may have been this one: look again.
      if (Atomics.load(this.words, Word.Redo) === added) return true
    }
  }

  private waitsAgain(word: bigint): boolean {
    for (let i = 0; i < MAX_REDO; i++) if (Atomics.load(this.redo, i) === word) return true
    return false
  }

  /** Makers that hold a claim of this batch. */
  private makersOf(batch: number): number[] {
    const makers = Array.from({ length: MAX_MAKERS }, (_, maker) => maker)
    return makers.filter(maker => this.held(maker)?.claim.batch === batch)
  }

  /** A maker died while it closed a batch: rows may have been moved already, so the whole batch is made again. */
  private beginAgain(slot: Slot, batch: number): void {
    const kept = [Header.Planned, Header.Valid, Header.Batch].map(word => [word, slot.words[word]])
    const stamps = slot.stamps.slice(Stamp.NextEpoch)
    const pass = ((slot.words[Header.Closer] >> PASS) + 1) & 255
    slot.clear()
    for (const [word, value] of kept) slot.words[word] = value
    slot.words[Header.Closer] = ofBatch(batch) | (pass << PASS)
    slot.stamps.set(stamps, Stamp.NextEpoch)
    const { chunks } = this.layout
    for (let chunk = 0; chunk < chunks; chunk++)
      this.again(claimWord(BigInt(batch * chunks + chunk), 1, this.generation, pass))
  }

  /** A maker died, perhaps while it opened a batch: then others may, and a slot that it had taken for that is free again. */
  private endOpening(maker: number, batch: number): void {
    const place = batch % MAX_DEPTH
    const open = Atomics.load(this.words, Word.TableBatch + place) === ((batch + 1) | 0)
    const slot = open ? Atomics.load(this.words, Word.TableSlot + place) : -1
    for (let i = 0; i < this.capacity; i++) {
      if (Atomics.load(this.words, Word.Holder + i) === maker + 1)
        Atomics.store(this.words, Word.Holder + i, i === slot ? HELD : 0)
    }
    Atomics.compareExchange(this.words, Word.Opening + place, maker + 1, 0)
  }

  /** From now on no maker tries this row: it is bad. */
  poisonRow(batch: number, row: number): void {
    const count = Atomics.load(this.words, Word.Poisoned)
    this.poison[count % MAX_POISON] = batch * this.layout.rows + row
    Atomics.store(this.words, Word.Poisoned, count + 1)
  }
}
