/**
 * Alerts over the records of one rank: which rules fire, and which end. Pure: the same records give the same alerts.
 *
 * A rule with a time holds when the mean over that time is beyond its limit. It ends when the mean is a fifth within it:
 * values about the limit don't make it fire again and again. Seconds of which nothing is known change nothing.
 */
import { bytes, ms, percent, rate } from '../verdict/units.js'
import { type AlertRule, type AlertSubject, parseAlert } from './alert-rules.js'
import type { RunRecord } from './record.js'

/** How far within its limit a value must be for an alert to end. */
const WITHIN = 0.2
/** A window counts when so much of it was seen: the writer may have been held up. */
const SEEN = 0.9

/** An alert that has begun, or ended. */
export interface AlertChange {
  rule: string
  /** Since when it holds (ms since 1970); null: it has ended. */
  since: number | null
  text: string
}

export class Alerts {
  private readonly states: AlertState[]

  /** Throws where a rule makes no sense. */
  constructor(rules: readonly string[]) {
    this.states = rules.map(rule => new AlertState(parseAlert(rule)))
  }

  /** What a record changes. Records of one rank, in the order of time. */
  look(record: RunRecord): AlertChange[] {
    return this.states.flatMap(state => state.look(record) ?? [])
  }

  /** No record has come for so long (s), though the rank has not ended: its node may be gone. `time`: now (ms since 1970). */
  miss(seconds: number, time: number): AlertChange[] {
    return this.states.flatMap(state => state.miss(seconds, time) ?? [])
  }

  /** Those that hold now. */
  get firing(): AlertChange[] {
    return this.states.flatMap(({ firing }) => firing ?? [])
  }
}

interface Sample {
  value: number
  /** How much it counts, and how long it took (s). */
  weight: number
  seconds: number
}

class AlertState {
  firing: AlertChange | undefined
  private samples: Sample[] = []
  /** Seconds since a step ended, as records say; and since the last record, where they don't come any more. */
  private quiet = 0
  private missing = 0

  constructor(private readonly rule: AlertRule) {}

  look(record: RunRecord): AlertChange | undefined {
    this.missing = 0
    return this.judge(this.valueOf(record), record)
  }

  miss(seconds: number, time: number): AlertChange | undefined {
    if (this.rule.subject !== 'silent') return undefined
    this.missing = seconds
    return this.judge(this.quiet + seconds, { time, why: null })
  }

  private judge(value: number | undefined, record: Pick<RunRecord, 'time' | 'why'>): AlertChange | undefined {
    if (value === undefined) return undefined
    const { above, limit, text } = this.rule
    const beyond = above ? value > limit : value < limit
    const well = above ? value < limit * (1 - WITHIN) : value > limit * (1 + WITHIN)
    // What is counted, or was quiet, is told as it is: a fifth of it means nothing.
    const over = this.rule.seconds === 0 && this.rule.subject !== 'rss' ? !beyond : well
    if (this.firing === undefined && beyond) {
      this.firing = { rule: text, since: record.time, text: this.told(value, record) }
      return this.firing
    }
    if (this.firing !== undefined && over) {
      this.firing = undefined
      return { rule: text, since: null, text: `${text}: ended, ${this.amount(value)}` }
    }
    return undefined
  }

  /** What the rule is about, over its time. Undefined: not known yet. */
  private valueOf(record: RunRecord): number | undefined {
    if (this.rule.subject === 'silent') {
      this.quiet = record.steps > 0 ? 0 : this.quiet + record.seconds
      return this.quiet
    }
    const [value, weight] = VALUES[this.rule.subject](record) ?? []
    if (this.rule.seconds === 0) return value
    this.samples.push({
      value: value ?? 0,
      weight: value === undefined ? 0 : (weight ?? 0),
      seconds: record.seconds,
    })
    let time = this.samples.reduce((sum, { seconds }) => sum + seconds, 0)
    while (time - this.samples[0].seconds >= this.rule.seconds)
      time -= (this.samples.shift() as Sample).seconds
    if (time < SEEN * this.rule.seconds) return undefined
    const all = this.samples.reduce((sum, sample) => sum + sample.weight, 0)
    if (!(all > 0)) return undefined
    return this.samples.reduce((sum, sample) => sum + sample.value * sample.weight, 0) / all
  }

  private told(value: number, { why }: Pick<RunRecord, 'why'>): string {
    const { subject, seconds, text } = this.rule
    const over = seconds > 0 ? ` over ${seconds} s` : this.missing > 0 ? ', and nothing is heard of it' : ''
    const cause = why !== null && (subject === 'lost' || subject === 'wait') ? `. ${why.sentence}` : ''
    return `${text}: ${this.amount(value)}${over}${cause}`
  }

  private amount(value: number): string {
    return AMOUNTS[this.rule.subject](value)
  }
}

/** What a record says, and how much that counts. */
const VALUES: Record<Exclude<AlertSubject, 'silent'>, (record: RunRecord) => [number, number] | undefined> = {
  lost: ({ lost, stepMs, steps }) => (lost === null || stepMs === null ? undefined : [lost, stepMs * steps]),
  // All that a step waits: for its batch, for taking it, and for the copy.
  wait: ({ parts, stepMs, steps }) =>
    parts === null || stepMs === null ? undefined : [stepMs * (1 - parts.ideal - parts.slowed), steps],
  samples: ({ samples, seconds }) => [samples / seconds, seconds],
  gpu: ({ gpu, seconds }) => (gpu?.hasWork == null ? undefined : [gpu.hasWork, seconds]),
  rss: ({ memory }) => (memory === null ? undefined : [memory.bytes, 1]),
  bad: ({ bad }) => [bad, 1],
}

const AMOUNTS: Record<AlertSubject, (value: number) => string> = {
  lost: value => `${percent(value)} lost`,
  wait: value => `a step waits ${ms(value)}`,
  samples: value => rate(value),
  gpu: value => `the GPU has work ${percent(value)} of the time`,
  rss: value => `${bytes(value)} of memory`,
  bad: value => `${value} bad samples`,
  silent: value => (value === 0 ? 'steps end again' : `no step ended for ${ms(1000 * value)}`),
}
