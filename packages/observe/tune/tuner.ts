/**
 * The tuner of an engine: what to set, when, and why. It is arithmetic: it is given windows of evidence and the time, and
 * answers with settings, decisions in words, and when it wants to look again. So it runs on recorded and simulated runs as it
 * does on real ones (engine-tuner.ts).
 *
 *   watching ──loss ≥ 2 %, and a change promises enough──► checking: A B A B ──► kept, or reverted and paused
 *      └── loss < 2 %: frozen, until it grows, or the work changes ──┘
 */
import type { Setting } from '../../core/deliver/ring-tuner.js'
import { account } from '../account/account.js'
import type { Evidence, Probes } from '../evidence.js'
import type { TunerDecision } from '../live/record.js'
import { fitModel } from '../model/fit.js'
import { FINE } from '../verdict/thresholds.js'
import { candidatesFor } from './candidates.js'
import { Check, type CheckResult } from './check.js'
import { Decoding } from './decoding.js'
import { Pauses } from './pauses.js'
import type { Candidate, Seen, Weighed } from './seen.js'
import * as words from './words.js'

/** Between two looks (ms). */
const LOOK_EVERY_MS = 2000
/** What a run's first moments say is about its start (ms, steps). */
const WARM_UP = { ms: 3000, steps: 20 }
/** A window that is watched begins with the last change, and is no longer than this (ms); the second where steps are long. */
const LONGEST_WINDOW_MS = 8000
const LONGEST_SLOW = 60_000
/** Single claims are read of the last ms: they cost more to read. */
const CLAIMS = 2500
/** Steps in a window from which it says something; of long steps fewer do, since each is a mean of much work. */
const LEAST_STEPS = 8
const LEAST_SLOW = 4
/** With this many times the workers, what they bring tells what the storage can give. */
const MORE = 1.4
/** Where less than the first share is lost, nothing is tried until more than the second is: else it would go to and fro. */
const FROZEN = FINE
const THAWED = 0.03

/** So many refusals in a row do not count, since the work has changed meanwhile. */
const EXCUSES = 1

/** What is seen of all rings from a moment on, until now. `full`: with single claims, which cost more to read. */
export type See = (from: number, full: boolean) => Seen[]

export interface Step {
  set: Setting[]
  decisions: TunerDecision[]
  /** When to look again (ms of CLOCK_MONOTONIC). */
  wake: number
}

export class Tuner {
  /** Since when things are as they are. */
  private since: number
  private check: Check | undefined
  private frozen = false
  private readonly pauses = new Pauses()
  /** Who decodes, by ring. */
  private readonly decodings = new Map<number, Decoding>()
  /** What the work took when it was last decided on something. */
  private known: WorkFacts | undefined
  private changedLooks = 0
  /** Refusals in a row that a change of the work has excused. */
  private excuses = 0
  /** What more workers brought when they were last tried. */
  private doubled: Probes['doubled']

  constructor(now: number) {
    this.since = now + WARM_UP.ms
  }

  /** What is being checked. */
  get tries(): Candidate['knob'] | undefined {
    return this.check?.candidate.knob
  }

  /** What it is about, for the page. */
  get state(): string {
    if (this.check) return words.checking(this.check.candidate)
    return this.frozen ? words.FROZEN : words.WATCHING
  }

  /** Looks, and says what is to be set. Called at `wake` of the step before, or later. */
  look(now: number, see: See): Step {
    const step: Step = { set: [], decisions: [], wake: now + LOOK_EVERY_MS }
    if (this.check) this.goOn(now, see, step)
    else if (now - this.since >= LOOK_EVERY_MS / 2) this.watch(now, see, step)
    else step.wake = Math.max(now + 50, this.since + LOOK_EVERY_MS)
    return step
  }

  /** The rings or their settings were changed from outside: what was seen before says nothing any more. */
  reset(now: number, why: string): Pick<Step, 'set' | 'decisions'> {
    const { check } = this
    const set = check?.back() ?? []
    const decisions = check ? [cutShort(now, check, why)] : []
    this.check = undefined
    this.frozen = false
    this.known = undefined
    this.doubled = undefined
    this.pauses.clear()
    this.since = now + WARM_UP.ms / 2
    return { set, decisions }
  }

  /** A ring is gone. */
  forget(ring: number): void {
    this.decodings.delete(ring)
  }

  private watch(now: number, see: See, step: Step): void {
    let from = Math.max(this.since, now - LONGEST_WINDOW_MS)
    let seen = see(from, false)
    let worst = worstOf(seen)
    let least = LEAST_STEPS
    if (worst === undefined || stepsOf(worst.evidence) < least) {
      from = Math.max(this.since, now - LONGEST_SLOW)
      seen = see(from, false)
      worst = worstOf(seen)
      least = LEAST_SLOW
    }
    if (worst === undefined || stepsOf(worst.evidence) < least) return
    this.wakeWhenChanged(now, worst, step)
    const decoding = this.decodingOf(worst)
    if (lossOf(worst) < (this.frozen ? THAWED : FROZEN) && !decoding?.begun) {
      this.freeze(now, worst, seen, step)
      return
    }
    this.frozen = false
    if (this.pauses.all(now) && decoding === undefined) return
    const full = withClaims(worst, see(Math.max(from, now - CLAIMS), true))
    if (this.doubled && full.evidence.facts.workers >= this.doubled.workers)
      full.evidence.probes = { ...full.evidence.probes, doubled: this.doubled }
    const active = seen.filter(({ evidence }) => stepsOf(evidence) > 0).length
    const open = (candidate: Candidate) => this.pauses.open(candidate, now)
    const candidate = candidatesFor(full, active, decoding).find(open)
    if (candidate === undefined) return
    this.known = workFacts(full)
    this.check = new Check(candidate, full, now)
    step.decisions.push(
      decision(now, full, 'tried', { ...of(candidate), reason: words.trying(candidate, full) }),
    )
    this.apply(this.check.begin(now), step)
  }

  /** Nothing is tried while it is so. What decodes now goes on to do so. */
  private freeze(now: number, worst: Weighed, seen: readonly Seen[], step: Step): void {
    const lost = lossOf(worst)
    if (!this.frozen) step.decisions.push(decision(now, worst, 'frozen', { reason: words.allWell(lost) }))
    this.frozen = true
    for (const one of seen) {
      const decoding = stepsOf(one.evidence) > 0 ? this.decodingOf(one) : undefined
      if (decoding === undefined) continue
      const { ring, room } = one
      const reason = words.keepsUp(room.decoder!, lost)
      step.set.push({ ring, knob: 'decode', value: room.decoder!, found: decoding.decided(reason) })
      const stays = { knob: 'decode' as const, from: room.decoder!, to: room.decoder!, reason }
      step.decisions.push(decision(now, { ...worst, ...one }, 'kept', stays))
    }
  }

  /** Of a ring of which it is open who decodes. */
  private decodingOf({ ring, room }: Seen): Decoding | undefined {
    if (room.decoder === undefined) return undefined
    const known = this.decodings.get(ring) ?? new Decoding()
    this.decodings.set(ring, known)
    return known.done ? undefined : known
  }

  /** The work has changed, in two looks one after the other: what was found out before may be wrong by now. */
  private wakeWhenChanged(now: number, worst: Weighed, step: Step): void {
    const facts = workFacts(worst)
    this.known ??= facts
    const what = hasChanged(this.known, facts)
    this.changedLooks = what === undefined ? 0 : this.changedLooks + 1
    if (what === undefined || this.changedLooks < 2) return
    this.changedLooks = 0
    this.known = facts
    this.doubled = undefined
    if (!this.frozen && !this.pauses.any(now)) return
    this.frozen = false
    this.pauses.clear()
    step.decisions.push(decision(now, worst, 'woken', { reason: words.changed(what) }))
  }

  private goOn(now: number, see: See, step: Step): void {
    const check = this.check!
    const seen = check.measures || check.waits ? see(check.from, false) : []
    const result = check.goOn(now, seen)
    if (result === undefined) {
      this.apply({ settings: check.take(), until: check.until }, step)
      return
    }
    this.check = undefined
    this.since = now
    step.set.push(...result.settings)
    step.wake = now + LOOK_EVERY_MS
    this.conclude(now, check, this.unlessChanged(result, worstOf(check.lastBefore)), step)
  }

  /** A change that is refused because the work has changed meanwhile is not refused for good. */
  private unlessChanged(result: CheckResult, worst: Weighed | undefined): CheckResult {
    if (result.kept || result.again || worst === undefined || this.known === undefined) return result
    const what = hasChanged(this.known, workFacts(worst))
    this.excuses = what === undefined ? 0 : this.excuses + 1
    // Where the work never stays the same, a refusal is one.
    if (what === undefined || this.excuses > EXCUSES) return result
    return { ...result, early: `the work has changed (${what})`, again: true }
  }

  /** More workers were promised to bring much, and certainly did not: the storage gives no more. The model knows it from now on. */
  private learn(
    { knob, from, to, predicted }: Candidate,
    { before, after }: Check['rates'],
    measured: CheckResult['measured'],
  ): void {
    if (knob !== 'workers' || to < MORE * from || predicted === null || measured === null) return
    if (measured.interval[1] < predicted.interval[0])
      this.doubled = { workers: from, doubledWorkers: to, before, after }
  }

  private conclude(now: number, { candidate, worst, rates }: Check, result: CheckResult, step: Step): void {
    const { kept, measured, again = false } = result
    this.learn(candidate, rates, measured)
    if (kept) this.pauses.kept(candidate)
    else if (!again && candidate.knob !== 'decode') this.pauses.refused(candidate, now)
    const reason = words.concluded(candidate, result, this.pauses.until(candidate, now))
    if (candidate.knob === 'decode') this.decide(candidate, result, reason, step)
    const event = kept ? 'kept' : 'reverted'
    step.decisions.push(decision(now, worst, event, { ...of(candidate), reason, measured }))
  }

  /** Another decoder was tried: when all were, the best stays. */
  private decide(candidate: Candidate, result: CheckResult, reason: string, step: Step): void {
    const { ring, from, to } = candidate
    const found = this.decodings.get(ring)?.concluded(candidate, result, reason)
    if (found === undefined) return
    step.set = step.set.filter(setting => setting.knob !== 'decode')
    step.set.push({ ring, knob: 'decode', value: result.kept ? to : from, found })
  }

  private apply({ settings, until }: { settings: Setting[]; until: number }, step: Step): void {
    step.set.push(...settings)
    step.wake = until
  }
}

/** The ring that loses most, of those that made steps. */
function worstOf(seen: readonly Seen[]): Weighed | undefined {
  const weighed = seen
    .filter(({ evidence }) => stepsOf(evidence) > 0)
    .map(one => ({ ...one, accounting: account(one.evidence) }))
  return weighed.reduce<Weighed | undefined>(
    (worst, one) => (worst === undefined || one.accounting.lost > worst.accounting.lost ? one : worst),
    undefined,
  )
}

/** What is lost, also where it can't be seen in steps: a trainer whose thread has no core takes longer for its own work. */
function lossOf({ accounting, evidence }: Weighed): number {
  return Math.max(accounting.lost, evidence.host?.trainerDelay ?? 0)
}

function withClaims(worst: Weighed, seen: readonly Seen[]): Weighed {
  const claims = seen.find(({ ring }) => ring === worst.ring)?.evidence.claims
  return { ...worst, evidence: { ...worst.evidence, ...(claims && { claims }) } }
}

function stepsOf({ steps }: Evidence): number {
  return steps.reduce((sum, { count, first }) => sum + (first ? 0 : count), 0)
}

/** Something came in between: the change is taken back, and says nothing. */
function cutShort(now: number, { candidate, worst }: Check, why: string): TunerDecision {
  return decision(now, worst, 'reverted', { ...of(candidate), reason: words.cutShort(candidate, why) })
}

function of({ knob, from, to, predicted }: Candidate): Partial<TunerDecision> {
  return { knob, from, to, predicted }
}

function decision(
  now: number,
  { ring, feed, accounting }: Weighed,
  event: TunerDecision['event'],
  more: Partial<TunerDecision> & { reason: string },
): TunerDecision {
  return {
    at: now,
    time: Date.now(),
    ring,
    feed,
    event,
    knob: null,
    from: null,
    to: null,
    lost: accounting.lost,
    predicted: null,
    measured: null,
    ...more,
  }
}

/** CPU and blocked time a sample (ms), and the trainer's own work a step (ms). */
interface WorkFacts {
  cpu: number
  blocked: number
  step: number
}

/** A change by this share is one. */
const CHANGED = 0.2
/** A figure that is less than this share of the others' sum does not matter, however it changes. */
const SMALL = 0.1

function workFacts({ evidence, accounting }: Weighed): WorkFacts {
  const { cpu, blocked, step } = fitModel(evidence, accounting)
  return { cpu: cpu.value, blocked: blocked.value, step: step.value }
}

/** What has changed, in words; undefined: nothing that matters. */
function hasChanged(before: WorkFacts, now: WorkFacts): string | undefined {
  const differs = (name: keyof WorkFacts, least: number) =>
    Math.max(before[name], now[name]) > least &&
    Math.abs(now[name] - before[name]) > CHANGED * Math.max(before[name], 1e-9)
  const least = SMALL * (before.cpu + before.blocked)
  const told = (name: keyof WorkFacts) => `${before[name].toFixed(2)} to ${now[name].toFixed(2)} ms`
  if (differs('step', 0.05)) return `the trainer's step went from ${told('step')}`
  if (differs('cpu', least)) return `the CPU time of a sample went from ${told('cpu')}`
  if (differs('blocked', least)) return `a sample's waiting for storage went from ${told('blocked')}`
  return undefined
}
