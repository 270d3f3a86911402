/** Where the time of the steps in a trace went, and the first cause, as far as a trace can tell. */
import { account } from '../../account/account.js'
import { collect } from '../../account/collect.js'
import type { Accounting, Diagnosis, Evidence, Parts, VerdictName } from '../../evidence.js'
import { supplyOf } from '../../verdict/causes.js'
import { conclude } from '../../verdict/judge.js'
import { LEAST_PART } from '../../verdict/thresholds.js'
import { sentence } from '../../verdict/words.js'
import type { ReadEvent } from './events.js'
import { OtherTrace } from './other-programs.js'
import { TraceRecords } from './records.js'

/** The accounting of one loop of a trainer. */
export interface TraceAccount {
  pid: number
  /** The name of its thread. Null: the trace does not say. */
  thread: string | null
  tid: number | null
  /** The feed that it took batches from. Null: another program's. */
  feed: string | null
  /** Its ring's number in the process that fills it: feeds of one name are told apart by it. Null: not in the trace. */
  ring: number | null
  steps: number
  seconds: number
  stepMs: number
  idealMs: number
  lost: number
  /** Shares that add up to 1. */
  parts: Parts
  /** Whether supply was divided by CPU time, by kinds of work, or not at all: no worker was seen. */
  dividedBy: 'cpu' | 'kinds' | 'none'
  /** Null: what was waited for can't be seen. */
  verdict: VerdictName | null
  second: VerdictName | null
  /** The first cause, in one sentence. */
  why: string
  /** What the trace does not tell of it. */
  unknown: string[]
}

const UNKNOWN = {
  slowed: 'whether workers slow the trainer: "training" holds what they cost it',
  measured: ' (`millrace diagnose --attach PID --control` measures that, of a trainer that runs)',
  host: 'what other programs did, and memory: the machine was not looked at',
  storage: 'whether more reads at a time would help: `millrace diagnose FEED` tries it',
  cpu: 'CPU time: opening and reading files counts as blocked, all other work as running, and what is not traced as without a slot',
  handOver: 'when a batch was complete: taking it (unpickling, copying) is part of the waiting',
  makers: 'what was waited for: it shows no worker. All waiting counts as without a slot',
  more: 'what came later: it has more events than are looked at',
}

/** Takes the events of a trace, and then says where the time went. */
export class TraceAccounts {
  private readonly own = new TraceRecords()
  private readonly other = new OtherTrace()

  readonly take = (event: ReadEvent): void => {
    this.own.take(event)
    this.other.take(event)
  }

  /** One for each loop, the longest first. */
  found(): TraceAccount[] {
    return this.loops().map(({ account }) => account)
  }

  /** The same, with what each was made of. */
  loops(): { account: TraceAccount; evidence: Evidence }[] {
    const loops = this.own.loops().map(({ source, cores, pid, thread, feed, ring }) => {
      const evidence = collect(source)
      // Where it does not say how many cores there are, none is known to be free.
      evidence.facts.cores = cores ?? Math.max(1, evidence.facts.workers)
      if (Number.isNaN(evidence.facts.begun)) evidence.facts.begun = undefined
      const seen = evidence.makers.length > 0
      const about = { own: true, seen, full: this.own.full }
      return { account: accountOf({ pid, thread, tid: null, feed, ring }, evidence, about), evidence }
    })
    const found =
      loops.length > 0
        ? loops
        : this.other.waiting().map(({ pid, tid, evidence, makers }) => {
            const about = { own: false, seen: makers, full: this.other.full }
            const whose = { pid, tid, thread: null, feed: null, ring: null }
            return { account: accountOf(whose, evidence, about), evidence }
          })
    return found
      .filter(({ account }) => account.steps > 0)
      .sort((a, b) => b.account.seconds - a.account.seconds)
  }
}

function accountOf(
  whose: Pick<TraceAccount, 'pid' | 'tid' | 'thread' | 'feed' | 'ring'>,
  evidence: Evidence,
  about: { own: boolean; seen: boolean; full: boolean },
): TraceAccount {
  const accounting = account(evidence)
  const { steps, seconds, stepMs, idealMs, lost, parts, makers } = accounting
  const diagnosis = asRecorded(conclude(evidence, accounting))
  const blind = !about.seen && supplyOf(parts) > 0
  const verdict = blind ? null : diagnosis.verdict
  return {
    ...{ ...whose, steps, seconds, stepMs, idealMs, lost, parts, dividedBy: makers.from ?? 'none' },
    ...{ verdict, second: blind ? null : diagnosis.second },
    // Remedies are predicted from what the machine did, which a trace does not have.
    why: blind ? blindly(accounting) : sentence({ ...diagnosis, remedies: [] }),
    unknown: unknownOf(accounting, about),
  }
}

/** That workers waited for cores is in the records. Who had the cores is not. */
function asRecorded(diagnosis: Diagnosis): Diagnosis {
  const known = (name: VerdictName) => (OF_MACHINE.has(name) ? 'queued' : name)
  const verdict = known(diagnosis.verdict)
  const second = diagnosis.second && known(diagnosis.second)
  return { ...diagnosis, verdict, second: second === verdict ? null : second }
}

const OF_MACHINE = new Set<VerdictName>(['cpu-saturated', 'crowded-host'])

function blindly({ lost }: Accounting): string {
  return `The trainer loses ${Math.round(lost * 100)} %, at least; what it waited for is not in the trace.`
}

function unknownOf(
  { parts, makers }: Accounting,
  { own, seen, full }: { own: boolean; seen: boolean; full: boolean },
): string[] {
  const waits = supplyOf(parts) > 0
  return [
    ...(waits && !seen ? [UNKNOWN.makers] : []),
    ...(waits && seen && makers.from !== 'cpu' ? [UNKNOWN.cpu] : []),
    ...(own ? [] : [UNKNOWN.handOver]),
    UNKNOWN.slowed + (own ? UNKNOWN.measured : ''),
    UNKNOWN.host,
    ...(parts.blocked >= LEAST_PART ? [UNKNOWN.storage] : []),
    ...(full ? [UNKNOWN.more] : []),
  ]
}
