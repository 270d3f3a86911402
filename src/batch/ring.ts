/**
 * A ring: the slots of one (feed, rank), and the words by which makers and the consumer agree without a
 * scheduler. docs/concurrency.md says who writes each word, and in which order.
 *
 *   memory ┬ control  64 KiB: the words below
 *          ├ slots    capacity × layout.bytes   (memfd, mapped over the memory)
 *          └ workspaces, one a maker            (private pages of the process)
 *
 *   control.ts   the words, and what the owner sets: start, depth, pause
 *   claims.ts    the makers' side
 *   ring.ts      the consumer's side, and what is done when a maker dies
 *
 * Batches are numbered 0, 1, 2, … from where the ring started. Free slots are bits of one word, so slots are handed
 * out in the order of batches and come back in any order.
 */
import { Claims } from './claims.js'
import type { Claim } from './control.js'
import {
  CLAIM_BITS,
  MAX_DEPTH,
  MAX_MAKERS,
  MAX_POISON,
  MAX_REDO,
  OPENING_SLOT,
  Word,
} from './control-words.js'
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
    if ((Atomics.load(this.words, Word.Free) & (1 << index)) !== 0) return false
    return Atomics.load(this.slots[index].words, Header.Ready) === 1
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
    Atomics.or(this.words, Word.Free, 1 << index)
    Atomics.add(this.words, Word.Released, 1)
  }

  /** What a maker holds, and for how long it has been at its present row. */
  held(maker: number): { claim: Claim; row: number; since: number } | undefined {
    const number = Atomics.load(this.claims, maker)
    if (number <= 0n) return undefined
    return { claim: this.describe(number), row: this.row[maker], since: this.since[maker] }
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
    const had = held > 0n || this.hadTaken(word, maker, lives)
    if (had === UNDECIDED) return UNDECIDED
    Atomics.store(this.claims, maker, 0n)
    this.since[maker] = 0
    const claim = this.describe(word)
    for (let i = 0; i < MAX_DEPTH; i++) {
      const opening = Atomics.load(this.words, Word.Opening + i)
      if ((opening & ((1 << OPENING_SLOT) - 1)) === maker + 1) this.openedByHalf(i, opening, claim.batch)
    }
    if (!had) return undefined
    const place = claim.batch % MAX_DEPTH
    const name = (claim.batch + 1) | 0
    const seen = Atomics.load(this.words, Word.TableBatch + place)
    if (seen === name) {
      const slot = this.slots[Atomics.load(this.words, Word.TableSlot + place)]
      if (Atomics.load(slot.words, Header.Batch) !== name) return undefined // given back
      if (Atomics.load(slot.words, Header.Ready) === 1) return undefined
      const closer = Atomics.load(slot.words, Header.Closer)
      if (closer >> PASS !== Number(word >> CLAIM_BITS)) return undefined // finished, before all was made again
      const chunk = claim.number % this.layout.chunks
      if (Atomics.load(slot.words, Header.Remaining) === 0) {
        const by = closer & ((1 << PASS) - 1)
        // Another is closing it, or is about to say so.
        if (by !== chunk + 1 && (by !== 0 || this.isBeingMade(claim.batch))) return undefined
        this.beginAgain(slot, claim.batch)
        return claim
      }
      if (Atomics.load(slot.done, chunk) === 1) return undefined
    } else if (seen !== 0 && ((seen - name) | 0) > 0) return undefined // a later batch has its place
    this.again(word)
    return claim
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
    if (word > Atomics.load(this.claim, 0) && word >> CLAIM_BITS === 0n) return false
    if (this.waitsAgain(word)) return false
    for (let other = 0; other < MAX_MAKERS; other++) {
      const held = Atomics.load(this.claims, other)
      if (other === maker || (held !== word && held !== -word)) continue
      // Of two dead ones the second to be looked at decides.
      return held === -word && lives(other) ? UNDECIDED : false
    }
    // Once more: a maker may have given it back meanwhile.
    return !this.waitsAgain(word)
  }

  private waitsAgain(word: bigint): boolean {
    for (let i = 0; i < MAX_REDO; i++) if (Atomics.load(this.redo, i) === word) return true
    return false
  }

  /** Whether a maker holds a claim of this batch. */
  private isBeingMade(batch: number): boolean {
    for (let maker = 0; maker < MAX_MAKERS; maker++) if (this.held(maker)?.claim.batch === batch) return true
    return false
  }

  /** The maker of a batch died while closing it: rows may have been moved already, so the whole batch is made again. */
  private beginAgain(slot: Slot, batch: number): void {
    const kept = [Header.Planned, Header.Valid, Header.Batch].map(word => [word, slot.words[word]])
    const stamps = slot.stamps.slice(Stamp.NextEpoch)
    const pass = (slot.words[Header.Closer] >> PASS) + 1
    slot.clear()
    for (const [word, value] of kept) slot.words[word] = value
    slot.words[Header.Closer] = pass << PASS
    slot.stamps.set(stamps, Stamp.NextEpoch)
    const first = (BigInt(pass) << CLAIM_BITS) + BigInt(batch * this.layout.chunks + 1)
    for (let chunk = 0; chunk < this.layout.chunks; chunk++) this.again(first + BigInt(chunk))
  }

  /** A maker died while it opened a batch: others may, and the slot that it had taken for that is free again. */
  private openedByHalf(place: number, word: number, batch: number): void {
    const index = (word >>> OPENING_SLOT) - 1
    const open = Atomics.load(this.words, Word.TableBatch + place) === ((batch + 1) | 0)
    if (!open && index >= 0) Atomics.or(this.words, Word.Free, 1 << index)
    Atomics.store(this.words, Word.Opening + place, 0)
  }

  /** From now on no maker tries this row: it is bad. */
  poisonRow(batch: number, row: number): void {
    const count = Atomics.load(this.words, Word.Poisoned)
    this.poison[count % MAX_POISON] = batch * this.layout.rows + row
    Atomics.store(this.words, Word.Poisoned, count + 1)
  }
}
