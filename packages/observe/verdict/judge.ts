/**
 * Names why a step takes longer than it must. Inconclusive is tested first; then the largest part of a step that is at
 * least 3 % is named, by the tests of its kind, and the second beside it. docs/measure.md has the table.
 */
import { account } from '../account/account.js'
import type { Accounting, Diagnosis, Evidence, VerdictName } from '../evidence.js'
import {
  type Case,
  caseOf,
  fellSilent,
  launchBound,
  slowStart,
  startShare,
  takesCores,
  trainerDelay,
  waitsForRank,
} from './case.js'
import { type Cause, causes, supplyOf, tied } from './causes.js'
import { evidenceLines } from './lines.js'
import { remediesFor } from './remedies.js'
import { type Division, specialVerdict, supplyVerdict } from './supply.js'
import {
  FREE_CORE,
  GPU_STEP,
  LEAST_PART,
  LEAST_STEPS,
  MOST,
  MUCH_LOST,
  SLOWED_STEP,
  THROTTLED,
} from './thresholds.js'
import { ms } from './units.js'

export function judge(e: Evidence): Diagnosis {
  return conclude(e, account(e))
}

/** The diagnosis of a window whose accounting is there already. */
export function conclude(e: Evidence, a: Accounting): Diagnosis {
  const c = caseOf(e, a)
  const { verdict, second, why } = decide(c)
  const named = verdict === 'inconclusive' ? [second] : [verdict, second]
  return {
    verdict,
    second,
    stage: STAGED.has(verdict) || (second !== null && STAGED.has(second)) ? a.makers.stage : null,
    parts: a.parts,
    evidence: [...why, ...evidenceLines(c, verdict, second)],
    ceiling: a.idealMs > GPU_STEP * a.stepMs ? Math.max(0, a.stepMs / a.idealMs - 1) : null,
    lost: a.lost,
    workers: e.facts.workers,
    remedies: remediesFor(
      c,
      named.filter(name => name !== null),
    ),
  }
}

/** Verdicts that a stage of the makers' work belongs to. */
const STAGED = new Set<VerdictName>([
  ...(['under-parallel', 'cpu-saturated', 'crowded-host', 'running', 'queued', 'variance'] as const),
  ...(['your-function', 'small-files', 'io-latency', 'storage-bandwidth', 'blocked', 'straggler'] as const),
])

interface Decision {
  verdict: VerdictName
  second: VerdictName | null
  why: string[]
}

function decide(c: Case): Decision {
  const { a } = c
  if (a.steps < LEAST_STEPS) {
    const why = `only ${a.steps} ${a.steps === 1 ? 'step was' : 'steps were'} seen; causes are told apart from ${LEAST_STEPS} on`
    return {
      verdict: 'inconclusive',
      // Waits are far shorter than what is known of workers: a trainer does not wait for a free slot.
      second:
        (a.steps > 0 && a.lost >= LEAST_PART && named(c).find(verdict => verdict !== 'no-slot')) || null,
      why: [why],
    }
  }
  if (fellSilent(c)) {
    const why = `no step ended in the last ${ms(c.e.silentMs ?? 0)}: the trainer waits for a batch that does not come, or does something else`
    return { verdict: 'inconclusive', second: null, why: [why] }
  }
  // What is not certainly lost is not blamed on anything.
  const surely = a.intervals === null ? a.lost : 1 - a.intervals.ideal[1]
  if (Math.min(a.lost, surely) < LEAST_PART && a.lost < MUCH_LOST) {
    if (waitsForRank(c)) return { verdict: 'straggler', second: null, why: [] }
    if (slowStart(c)) return { verdict: 'start-up', second: null, why: [] }
    return { verdict: launchBound(c) ? 'launch-bound' : 'compute-bound', second: null, why: [] }
  }
  const [verdict, second = null] = named(c)
  if (surely < LEAST_PART) {
    const most = percent(1 - a.intervals!.ideal[0])
    const why = `steps differ so much that the data may cost between nothing and ${most} of a step`
    return { verdict: 'inconclusive', second: verdict, why: [why] }
  }
  const unsure = tied(a)
  if (unsure === null || explains(verdict, unsure)) return { verdict, second, why: [] }
  const [x, y] = unsure.map(
    ({ share, interval }) => `${percent(share)} (${interval!.map(percent).join(' to ')})`,
  )
  const either = second === null ? verdict : `${verdict} or ${second}`
  const why = `${either}: their parts, ${x} and ${y}, are not certainly different`
  return { verdict: 'inconclusive', second: verdict, why: [why] }
}

/** Whether a verdict holds whichever of two causes is the larger: what makers did in waits does not decide it. */
function explains(verdict: VerdictName, causes: Cause[]): boolean {
  const ofMakers = causes.every(({ name }) => name === 'blocked' || name === 'cpu')
  return ofMakers && WHATEVER.has(verdict)
}

/** Memory that is taken back costs CPU time as well as waiting. */
const WHATEVER = new Set<VerdictName>(['start-up', 'straggler', 'runtime-pause', 'memory-pressure'])

/** The verdicts of the parts that are worth one, largest part first, and then what else is seen of the first. */
function named(c: Case): VerdictName[] {
  const { parts } = c.a
  const supply = supplyOf(parts)
  const all = causes(c.a)
  const ofTrainer = all.filter(({ name }) => name === 'slowed' || name === 'handOver' || name === 'transfer')
  const ofMakers = all.filter(cause => !ofTrainer.includes(cause))
  const found: { share: number; verdict: VerdictName }[] = []
  const ofSupply = supply > 0 ? supplyVerdict(c, divide(parts)) : null
  for (const cause of ofTrainer) {
    // Where workers lack cores, the trainer's thread lacks them when it takes a batch.
    if (cause.name === 'handOver' && ofSupply !== null && LACKS_CORES.has(ofSupply) && cause.share < supply)
      continue
    const verdict = trainerVerdict(c, cause)
    const same = found.find(one => one.verdict === verdict)
    if (same) same.share += cause.share
    else found.push({ share: cause.share, verdict })
  }
  if (ofSupply !== null) {
    const verdict = ofSupply
    found.push({ share: supply, verdict })
    // What would be named if the first cause were gone.
    const rest = leftOver(verdict, ofMakers)
    const left = rest.reduce((sum, { share }) => sum + share, 0)
    if (left >= LEAST_PART)
      found.push({ share: left - 1e-9, verdict: supplyVerdict(c, divide(parts, rest), true) })
  }
  found.sort((x, y) => y.share - x.share)
  const worth = found.filter(({ share }, i) => i === 0 || share >= LEAST_PART)
  const also = worth[0]?.verdict !== undefined && supply >= LEAST_PART ? alsoSeen(c, worth[0].verdict) : []
  // A late start that took more of the time than the second part goes before it.
  const place = startShare(c) > (worth[1]?.share ?? 0) ? 1 : worth.length
  const seen = worth.map(({ verdict }) => verdict)
  const names = [...seen.slice(0, place), ...also, ...seen.slice(place)]
  return names.filter((name, i) => names.indexOf(name) === i)
}

function trainerVerdict(c: Case, { name, share }: Cause): VerdictName {
  if (name === 'transfer') return 'transfer-bound'
  if (name === 'slowed' && crowding(c)) return 'crowding-trainer'
  // Its thread had no core for as long as half of it: then neither the batch nor the step is what is slow.
  if (trainerDelay(c) >= Math.max(LEAST_PART, MOST * share)) return takesCores(c)
  if (name === 'handOver') return 'hand-over'
  // A quota stops the trainer along with its makers.
  return (c.e.host?.throttled ?? 0) >= THROTTLED ? 'cpu-saturated' : 'slowed'
}

/** Whether it is the makers that slow the trainer: its step was measured with them and without. */
function crowding({ e, a, f }: Case): boolean {
  const { atWork } = e.probes
  // Few steps were held, and steps differ: the difference must be more than they differ by themselves.
  if (a.intervals !== null && a.intervals.slowed[0] <= 0) return false
  if (atWork !== undefined) return atWork.ms > SLOWED_STEP * a.idealMs
  return a.idealFrom === 'held' && f.step.value > SLOWED_STEP * a.idealMs
}

/** Shares of supply, of all or of some causes. */
function divide(parts: Accounting['parts'], only?: Cause[]): Division {
  const has = (name: Cause['name']) => only === undefined || only.some(cause => cause.name === name)
  const { running, queued, blocked, noSlot } = parts
  const d = {
    running: has('cpu') ? running : 0,
    queued: has('cpu') ? queued : 0,
    blocked: has('blocked') ? blocked : 0,
    noSlot: has('noSlot') ? noSlot : 0,
  }
  const all = supplyOf(d as Accounting['parts'])
  if (all <= 0) return d
  return {
    running: d.running / all,
    queued: d.queued / all,
    blocked: d.blocked / all,
    noSlot: d.noSlot / all,
  }
}

const OF_BLOCKED = new Set<VerdictName>([
  ...(['storage-bandwidth', 'cache-warm-up', 'io-latency', 'small-files', 'your-function'] as const),
  ...(['blocked', 'memory-pressure'] as const),
])
const OF_CPU = new Set<VerdictName>(['under-parallel', 'cpu-saturated', 'crowded-host', 'running', 'queued'])

/** The makers' causes that a verdict does not cover. Uneven makers and stragglers cover all, starts none of the rest. */
function leftOver(verdict: VerdictName, all: Cause[]): Cause[] {
  if (verdict === 'start-up') return all
  if (OF_BLOCKED.has(verdict)) return all.filter(({ name }) => name === 'cpu')
  return OF_CPU.has(verdict) ? all.filter(({ name }) => name === 'blocked') : []
}

const LACKS_CORES = new Set<VerdictName>(['cpu-saturated', 'crowded-host'])

/** What is seen beside the first verdict, and is no part of its own. */
function alsoSeen(c: Case, first: VerdictName): VerdictName[] {
  const also: VerdictName[] = slowStart(c) && !LACKS_CORES.has(first) ? ['start-up'] : []
  const special = specialVerdict(c)
  if (special !== null) also.push(special)
  const { otherCores = 0, idleCores = Infinity } = c.e.host ?? {}
  const inTheWay = first === 'running' ? idleCores < FREE_CORE : c.a.parts.queued >= LEAST_PART
  if ((first === 'cpu-saturated' || first === 'running') && otherCores >= FREE_CORE && inTheWay)
    also.push('crowded-host')
  return also
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`
}
