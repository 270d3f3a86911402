/**
 * A check of one change: without and with it in turns, A B A B, so that what drifts meanwhile falls on both. Where that does not
 * decide, more pairs follow. What neighbours on the machine take or leave is taken out: rates are compared for the same cores.
 */
import type { Setting } from '../../core/deliver/ring-tuner.js'
import { account } from '../account/account.js'
import type { Accounting } from '../evidence.js'
import { ratio } from '../model/estimate.js'
import type { Candidate, Seen, Weighed } from './seen.js'

/** A turn is measured this long (ms), and for so many steps, but no longer than the most. */
const TURN = { ms: 1500, steps: 6, most: 20_000 }
/** Before a turn is measured, `ms` pass, and as many steps as slots, `steps` at most; `start` (ms) more where threads start. */
const SETTLE = { ms: 500, start: 1000, steps: 12, most: 20_000 }
/** A change of who decodes is carried out by the trainer, which opens another ring: looked for so often, and so long (ms). */
const TAKING_UP = { every: 250, most: 60_000 }
/** Pairs at most where they don't agree: of a change that was promised, and of one that is only tried. */
const PAIRS = { promised: 5, tried: 4 }
/** A gain (as a logarithm) that is so large that one pair shows it. */
const LARGE = 0.25
/** A gain that is not certain is believed if it is at least this share of what was promised. */
const OF_PROMISED = 0.25
/** Gains (as logarithms) from which a change is kept, and below which it is given up at once. */
const KEEP = 0.015
const HARM = -0.15
/** Standard errors by which a gain is certain. */
const CERTAIN = 1.5
/** Noise of a rate over a turn that its own blocks don't show: at least this much. */
const LEAST_SIGMA = 0.005
/** A part of a step lost to CPU, from which the rate goes with the cores. */
const CPU_BOUND = 0.05

export interface CheckResult {
  kept: boolean
  settings: Setting[]
  measured: { gain: number; interval: [number, number] } | null
  /** Why it ended early, in words. */
  early?: string
  /** It may be tried again soon: what was measured says little. */
  again?: boolean
}

/** One measured turn. */
interface Turn {
  rate: number
  /** Standard error of the rate's logarithm. */
  sigma: number
  cores: number
  cpuBound: number
}

export class Check {
  /** From when on it is measured, and until when; while it settles, until then. */
  from = 0
  until = 0
  measures = false
  private side: 'before' | 'after' = 'after'
  private readonly turns: Record<'before' | 'after', Turn[]> = { before: [], after: [] }
  private pending: Setting[] = []
  /** Until when the trainer is waited for to carry the change out; undefined: it has, or need not. */
  private takenUpBy: number | undefined
  private readonly stepMs: number
  private extended = false
  /** The latest window without the change. */
  lastBefore: readonly Seen[]

  constructor(
    readonly candidate: Candidate,
    readonly worst: Weighed,
    now: number,
  ) {
    const { accounting, evidence } = worst
    this.stepMs = accounting.stepMs
    // What was just watched is the first turn without the change.
    const turn = turnOf([worst], worst.ring, accounting)
    if (turn) this.turns.before.push(turn)
    this.from = now
    this.depth = evidence.facts.depth
    this.lastBefore = [worst]
  }
  private readonly depth: number

  /** Whether the trainer is waited for: what it uses at present must be seen. */
  get waits(): boolean {
    return this.takenUpBy !== undefined
  }

  /** How long a step should take (ms), without or with the change. */
  private expected(side: 'before' | 'after'): number {
    const { predicted } = this.candidate
    return side === 'after' && predicted
      ? this.stepMs / (1 + Math.max(0, predicted.interval[0]))
      : this.stepMs
  }

  /** Samples/s of all turns, without and with the change. */
  get rates(): { before: number[]; after: number[] } {
    const of = (turns: Turn[]) => turns.map(({ rate }) => rate)
    return { before: of(this.turns.before), after: of(this.turns.after) }
  }

  /** Sets the change, and says when to look again. */
  begin(now: number): { settings: Setting[]; until: number } {
    this.settle(now)
    return { settings: [this.setting('after')], until: this.until }
  }

  /** What is to be set now. */
  take(): Setting[] {
    return this.pending.splice(0)
  }

  /** The settings as they were before. */
  back(): Setting[] {
    return [this.setting('before')]
  }

  /** The time has come. Undefined: it goes on. */
  goOn(now: number, seen: readonly Seen[]): CheckResult | undefined {
    if (this.takenUpBy !== undefined) return this.takeUp(now, seen, this.takenUpBy)
    if (!this.measures) {
      this.measures = true
      this.from = now
      this.until = now + Math.min(TURN.most, Math.max(TURN.ms, TURN.steps * this.expected(this.side)))
      return undefined
    }
    const turn = turnOf(seen, this.worst.ring)
    if (turn === undefined) return this.wait(now)
    this.extended = false
    if (this.side === 'before') this.lastBefore = seen
    this.turns[this.side].push(turn)
    const result = this.judge()
    if (result) return result
    this.side = this.side === 'after' ? 'before' : 'after'
    this.pending = [this.setting(this.side)]
    this.settle(now)
    return undefined
  }

  /** No step ended in the turn: once more as long, then the trainer does something else. */
  private wait(now: number): CheckResult | undefined {
    if (this.extended)
      return { kept: false, settings: this.back(), measured: null, early: 'the trainer made no steps' }
    this.extended = true
    this.until = now + TURN.most
    return undefined
  }

  /** Whether the trainer has carried the change out: it settles from then on. */
  private takeUp(now: number, seen: readonly Seen[], last: number): CheckResult | undefined {
    const one = seen.find(({ ring }) => ring === this.worst.ring)
    if (one?.room.decoder === this.setting(this.side).value) {
      this.takenUpBy = undefined
      this.until = now + this.settling(this.side === 'after' ? SETTLE.start : 0)
    } else if (now < last) this.until = now + TAKING_UP.every
    else {
      const early = 'the trainer did not take it up'
      return { kept: false, settings: this.back(), measured: null, early, again: true }
    }
    return undefined
  }

  private settle(now: number): void {
    const { knob, from, to } = this.candidate
    const starts = knob === 'workers' && to > from && this.turns.after.length === 0 ? SETTLE.start : 0
    this.measures = false
    this.until = now + this.settling(starts)
    if (knob !== 'decode') return
    this.takenUpBy = now + TAKING_UP.most
    this.until = now + TAKING_UP.every
  }

  /** How long it takes until what was set shows (ms). */
  private settling(starts: number): number {
    const { knob, from, to } = this.candidate
    const depth = knob === 'depth' ? Math.max(from, to) : this.depth
    // Other claims begin with a batch that is not open yet.
    const steps = (knob === 'claim' ? depth : Math.min(SETTLE.steps, depth)) * this.expected(this.side)
    return Math.min(SETTLE.most, SETTLE.ms + starts + steps)
  }

  private setting(side: 'before' | 'after'): Setting {
    const { ring, knob, from, to } = this.candidate
    return { ring, knob, value: side === 'before' ? from : to }
  }

  private judge(): CheckResult | undefined {
    const { before, after } = this.turns
    const pairs = Math.min(before.length, after.length)
    const { gain, sigma } = this.gain(pairs)
    const give = (kept: boolean, early?: string): CheckResult => ({
      kept,
      settings: kept ? [] : this.back(),
      measured: told(gain, sigma),
      ...(early && { early }),
    })
    if (this.side === 'before') return this.isHarm() ? give(false, 'it was clearly slower') : undefined
    // A large gain needs no second turn. A large loss does: the work may have changed just then.
    if (pairs === 1) return gain - 3 * sigma > LARGE ? give(true) : undefined
    if (gain - CERTAIN * sigma > 0 && gain > KEEP) return give(true)
    if (gain + CERTAIN * sigma < KEEP) return give(false)
    const { predicted } = this.candidate
    if (pairs < (predicted ? PAIRS.promised : PAIRS.tried)) return undefined
    // What was promised, and came in good part, is believed sooner than what was only tried.
    if (predicted === null) return give(gain > Math.max(2 * KEEP, sigma))
    return give(gain > Math.max(KEEP, sigma / 2, OF_PROMISED * Math.log1p(predicted.gain)))
  }

  /** Whether the first turn with the change was much slower than those before and after it. */
  private isHarm(): boolean {
    const { before, after } = this.turns
    if (before.length !== 2 || after.length !== 1) return false
    return before.every(turn => {
      const { gain, sigma } = gainOf(turn, after[0])
      return gain < HARM && gain < -3 * sigma
    })
  }

  /** The mean logarithm of the pairs' gains, and its standard error. */
  private gain(pairs: number): { gain: number; sigma: number } {
    const gains: number[] = []
    let noise = 0
    for (let i = 0; i < pairs; i++) {
      const { gain, sigma } = gainOf(this.turns.before[i], this.turns.after[i])
      gains.push(gain)
      noise += sigma ** 2
    }
    const gain = gains.reduce((sum, one) => sum + one, 0) / pairs
    const spread = gains.reduce((sum, one) => sum + (one - gain) ** 2, 0) / Math.max(1, pairs - 1)
    const own = Math.sqrt(noise) / pairs
    return { gain, sigma: pairs < 2 ? own : Math.max(own, Math.sqrt(spread / pairs)) }
  }
}

/** What the second turn gains over the first, for the same cores: as a logarithm, with its standard error. */
function gainOf(a: Turn, b: Turn): { gain: number; sigma: number } {
  const cores = Math.log(Math.max(b.cores, 0.1) / Math.max(a.cores, 0.1))
  const gain = Math.log(b.rate / a.rate) - Math.min(a.cpuBound, b.cpuBound) * cores
  return { gain, sigma: Math.hypot(a.sigma, b.sigma) }
}

function told(gain: number, sigma: number): { gain: number; interval: [number, number] } {
  const of = (log: number) => Math.expm1(log)
  return { gain: of(gain), interval: [of(gain - 1.96 * sigma), of(gain + 1.96 * sigma)] }
}

/** The rate of a ring in a window (samples/s). Undefined: it made no step. */
function turnOf(seen: readonly Seen[], ring: number, known?: Accounting): Turn | undefined {
  const one = seen.find(other => other.ring === ring)
  if (one === undefined) return undefined
  const { evidence } = one
  const steps = evidence.steps.filter(({ first, count }) => !first && count > 0)
  const { value, sigma } = ratio(
    steps,
    step => step.samples,
    step => step.supply + step.handOver + step.transfer + step.compute,
  )
  if (!(value > 0)) return undefined
  const { parts } = known ?? account(evidence)
  const { host } = evidence
  return {
    rate: 1000 * value,
    sigma: Math.max(LEAST_SIGMA, sigma / value),
    cores: host === null ? 1 : host.allowed - host.otherCores,
    cpuBound: Math.min(1, (parts.running + parts.queued) / CPU_BOUND),
  }
}
