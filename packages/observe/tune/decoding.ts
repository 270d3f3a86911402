/**
 * Who decodes the images of a run. The CPU begins: it takes nothing from the trainer's GPU. If the trainer waits, the GPU is
 * tried, and then both: the CPU nearly as much as it can, the GPU what is missing. What was found stays: pixel values differ a
 * little between the two, so it is part of the state.
 */
import { CPU, type Decoder, decoderOf, GPU, SHARES } from '../../core/basics/decoder.js'
import { supplyOf } from '../verdict/causes.js'
import { FINE } from '../verdict/thresholds.js'
import type { CheckResult } from './check.js'
import type { Candidate, Weighed } from './seen.js'

/** They are tried in this order. */
const ALL: readonly Decoder[] = ['cpu', 'gpu', 'both']
/** When both decode, the CPU gets so much of what it managed alone. */
const LESS = 0.9
/** A trainer that does not take a change up (it keeps batches, or does something else) is asked so often. */
const TRIES = 2

export class Decoding {
  private readonly tried = new Set<Decoder>()
  private readonly reasons: string[] = []
  /** Share of what the trainer could have taken that was there while the CPU decoded alone. */
  private fed = 1
  private inVain = 0
  /** Decided. */
  done = false

  /** Whether something was tried, and something is still to be. */
  get begun(): boolean {
    return this.tried.size > 1 && !this.done
  }

  /** What to try next. Undefined: the decoder is not what the run waits for. */
  next({ ring, accounting, room }: Weighed): Candidate | undefined {
    const from = room.decoder!
    const { parts, lost } = accounting
    // No decoder shortens the waiting for storage.
    const elsewhere = lost - parts.blocked
    if (!this.begun && (elsewhere < FINE || elsewhere < parts.blocked)) return undefined
    this.tried.add(decoderOf(from))
    if (from === CPU) this.fed = 1 - supplyOf(parts)
    const who = ALL.find(one => !this.tried.has(one))
    return who && { ring, knob: 'decode', from, to: this.twentieths(who), predicted: null }
  }

  /** A try is over. `again`: it says nothing. Returns why it is decided, once it is. */
  concluded({ from, to }: Candidate, { again, measured }: CheckResult, reason: string): string | undefined {
    if (again && ++this.inVain < TRIES) return undefined
    this.inVain = 0
    this.tried.add(decoderOf(to))
    this.reasons.push(reason)
    // Side by side with the GPU it is seen better than in the first steps what the CPU manages alone.
    if (measured !== null && from === CPU && to === GPU)
      this.fed = Math.min(this.fed, 1 / (1 + measured.gain))
    return this.tried.size < ALL.length ? undefined : this.decided()
  }

  /** What decodes at present stays. */
  decided(reason?: string): string {
    this.done = true
    return [...this.reasons, ...(reason === undefined ? [] : [reason])].join(' ')
  }

  private twentieths(who: Decoder): number {
    if (who !== 'both') return who === 'cpu' ? CPU : GPU
    return Math.min(SHARES - 1, Math.max(1, Math.round(LESS * this.fed * SHARES)))
  }
}
