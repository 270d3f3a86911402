/**
 * The tuner of an engine: what to set, when, and why. It is arithmetic: it is given windows of evidence and the time, and
 * answers with settings, decisions in words, and when it wants to look again. So it runs on recorded and simulated runs as it
 * does on real ones (engine-tuner.ts).
 *
 *   watching ──loss ≥ 2 %, and a change promises enough──► checking: A B A B ──► kept, or reverted and paused
 *      └── loss < 2 %: frozen, until it grows, or the work changes ──┘
 */
import { account } from '../observe/account/account.js'
import type { Evidence } from '../observe/evidence.js'
import type { TunerDecision } from '../observe/live/decision.js'
import { candidatesFor } from './candidates.js'
import { Check, type CheckResult } from './check.js'
import { Pauses } from './pauses.js'
import type { Candidate, Seen, Setting, Weighed } from './seen.js'
import * as words from './words.js'
import { hasChanged, type WorkFacts, workFacts } from './work-facts.js'

/** Between two looks (ms). */
const OFTEN = 2000
/** What a run's first moments say is about its start (ms, steps). */
const WARM_UP = { ms: 3000, steps: 20 }
/** Windows that are watched: from the last change on, but no longer than this (ms). */
const LONGEST = 8000
/** Single claims are read of the last ms: they cost more to read. */
const CLAIMS = 2500
/** Steps in a window from which it says something. */
const LEAST_STEPS = 8
/** Below this share nothing is tried, and above it again something is: so that it does not go to and fro. */
export const FROZEN = 0.02
const THAWED = 0.03

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
  /** What the work took when it was last decided on something. */
  private known: WorkFacts | undefined
  private changedLooks = 0

  constructor(now: number) {
    this.since = now + WARM_UP.ms
  }

  /** What it is about, for the page. */
  get state(): string {
    if (this.check) return words.checking(this.check.candidate)
    return this.frozen ? words.FROZEN : words.WATCHING
  }

  /** Looks, and says what is to be set. Called at `wake` of the step before, or later. */
  look(now: number, see: See): Step {
    const step: Step = { set: [], decisions: [], wake: now + OFTEN }
    if (this.check) this.goOn(now, see, step)
    else if (now - this.since >= OFTEN / 2) this.watch(now, see, step)
    else step.wake = Math.max(now + 50, this.since + OFTEN)
    return step
  }

  /** The rings or their settings were changed from outside: what was seen before says nothing any more. */
  reset(now: number): Setting[] {
    const back = this.check?.back() ?? []
    this.check = undefined
    this.frozen = false
    this.known = undefined
    this.pauses.clear()
    this.since = now + WARM_UP.ms / 2
    return back
  }

  private watch(now: number, see: See, step: Step): void {
    const from = Math.max(this.since, now - LONGEST)
    const seen = see(from, false)
    const worst = worstOf(seen)
    if (worst === undefined || stepsOf(worst.evidence) < LEAST_STEPS) return
    this.wakeWhenChanged(now, worst, step)
    const { lost } = worst.accounting
    if (lost < (this.frozen ? THAWED : FROZEN)) {
      if (!this.frozen) step.decisions.push(decision(now, worst, 'frozen', { reason: words.allWell(lost) }))
      this.frozen = true
      return
    }
    this.frozen = false
    if (this.pauses.all(now)) return
    const full = withClaims(worst, see(Math.max(from, now - CLAIMS), true))
    const active = seen.filter(({ evidence }) => stepsOf(evidence) > 0).length
    const open = (candidate: Candidate) => this.pauses.open(candidate, now)
    const candidate = candidatesFor(full, active).find(open)
    if (candidate === undefined) return
    this.known = workFacts(full)
    this.check = new Check(candidate, full, now)
    step.decisions.push(
      decision(now, full, 'tried', { ...of(candidate), reason: words.trying(candidate, full) }),
    )
    this.apply(this.check.begin(now), step)
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
    if (!this.frozen && !this.pauses.any(now)) return
    this.frozen = false
    this.pauses.clear()
    step.decisions.push(decision(now, worst, 'woken', { reason: words.changed(what) }))
  }

  private goOn(now: number, see: See, step: Step): void {
    const check = this.check!
    const seen = check.measures ? see(check.from, false) : []
    const result = check.goOn(now, seen)
    if (result === undefined) {
      this.apply({ settings: check.take(), until: check.until }, step)
      return
    }
    this.check = undefined
    this.since = now
    step.set.push(...result.settings)
    step.wake = now + OFTEN
    this.conclude(now, check, result, step)
  }

  private conclude(now: number, { candidate, worst }: Check, result: CheckResult, step: Step): void {
    const { kept, measured } = result
    if (kept) this.pauses.kept(candidate)
    else this.pauses.refused(candidate, now)
    const reason = words.concluded(candidate, result, this.pauses.until(candidate, now))
    const event = kept ? 'kept' : 'reverted'
    step.decisions.push(decision(now, worst, event, { ...of(candidate), reason, measured }))
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

function withClaims(worst: Weighed, seen: readonly Seen[]): Weighed {
  const claims = seen.find(({ ring }) => ring === worst.ring)?.evidence.claims
  return { ...worst, evidence: { ...worst.evidence, ...(claims && { claims }) } }
}

function stepsOf({ steps }: Evidence): number {
  return steps.reduce((sum, { count, first }) => sum + (first ? 0 : count), 0)
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
