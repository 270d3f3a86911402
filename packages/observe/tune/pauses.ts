/** How long a knob is left alone after changes of it were refused: the longer, the more often. */
import type { Knob } from '../../core/deliver/ring-tuner.js'
import type { Candidate } from './seen.js'

/** After a refusal a knob rests this long (ms); two refusals double it, up to an hour. */
const PAUSE_MS = 30_000
const LONGEST_PAUSE_MS = 3_600_000
/** A change that was refused is not tried again, nor one that is nearer to it than this factor, for so many pauses. */
const NEAR = 1.2

interface Refusals {
  count: number
  until: number
  values: number[]
}

export class Pauses {
  private readonly knobs = new Map<Knob, Refusals>()

  /** Whether a change may be tried now. One that was refused must be another one the next time, until the pause is long. */
  open({ knob, to }: Candidate, now: number): boolean {
    const refusals = this.knobs.get(knob)
    if (refusals === undefined) return true
    return now >= refusals.until && (refusals.count > 2 || !refusals.values.some(value => alike(value, to)))
  }

  refused({ knob, to }: Candidate, now: number): void {
    const { count = 0, values = [] } = this.knobs.get(knob) ?? {}
    const pause = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** Math.floor(count / 2))
    this.knobs.set(knob, { count: count + 1, until: now + pause, values: [...values, to] })
  }

  kept({ knob }: Candidate): void {
    this.knobs.delete(knob)
  }

  /** Until when a knob rests (ms from now); 0: it does not. */
  until({ knob }: Candidate, now: number): number {
    return Math.max(0, (this.knobs.get(knob)?.until ?? 0) - now)
  }

  any(now: number): boolean {
    return [...this.knobs.values()].some(({ until }) => until > now)
  }

  /** Whether workers and depth, from which everything else follows, both rest. */
  all(now: number): boolean {
    return (['workers', 'depth', 'claim'] as const).every(knob => (this.knobs.get(knob)?.until ?? 0) > now)
  }

  clear(): void {
    this.knobs.clear()
  }
}

function alike(a: number, b: number): boolean {
  return Math.max(a, b) <= NEAR * Math.min(a, b)
}
