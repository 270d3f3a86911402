/**
 * The accounting of a window: where the time of a step went. Pure: the same evidence gives the same figures.
 * docs/measure.md says what each of them means.
 */

import { STALL } from '../../core/deliver/protocol-facts.js'
import type { Accounting, Evidence, MakerSlice, MakerWork, StepTimes } from '../evidence.js'
import { errorOfRun, intervalsOf } from './intervals.js'
import { amount, percentile, ratio, type Weighted } from './numbers.js'
import { countOf, partsOf, sumSteps, waitsOf } from './parts.js'
import {
  addTime,
  allTime,
  hasCpu,
  MAKER_TIMES,
  type MakerTime,
  noTime,
  SlicesByTime,
  timeOf,
  WORK_KINDS,
  whileWaiting,
  workOf,
} from './slices.js'

export function account(evidence: Evidence): Accounting {
  const { makers, probes } = evidence
  const first = evidence.steps.find(step => step.first)
  const steps = evidence.steps.filter(step => !step.first).sort((a, b) => a.asked - b.asked)
  const supply = supplyShares(steps, makers)
  const sums = sumSteps(steps, supply)
  const whole = waitsOf(sums) + sums.compute
  const stepMs = ratio(whole, sums.count)
  const measured = probes.ideal
  const idealMs = Math.min(measured ? amount(measured.ms) : ratio(sums.compute, sums.count), stepMs)
  const parts = partsOf(sums, idealMs)
  const seconds = whole / 1000
  return {
    steps: sums.count,
    samples: sums.samples,
    seconds,
    samplesPerSecond: ratio(sums.samples, seconds),
    stepMs,
    idealMs,
    idealFrom: measured?.from ?? 'upper',
    lost: 1 - parts.ideal,
    parts,
    intervals: intervalsOf(steps, supply, parts, measured && idealMs, ratio(heldError(evidence), stepMs)),
    wait: waitFigures(steps, evidence.waits),
    au: { dlio: whole > 0 ? sums.compute / whole : 1, nominal: parts.ideal },
    firstBatchMs: first ? firstBatch(first, evidence.facts.begun) : null,
    epochGapMs: epochGap(steps),
    startUpShare: startUp(evidence.steps),
    makers: makerFigures(makers),
    io: ioFigures(evidence),
    gcMs: steps.reduce((sum, step) => sum + amount(step.gc), 0),
    host: evidence.host,
  }
}

/** The standard error of an ideal that was measured while makers were held (ms): on a few steps, once. */
function heldError({ probes: { ideal }, steps }: Evidence): number {
  if (ideal?.from !== 'held') return 0
  const ready = steps.filter(step => !step.first && amount(step.supply) <= STALL * countOf(step))
  return errorOfRun(ready, Math.max(1, ideal.steps))
}

/** What a step waited, whatever for. */
function waitOf(step: StepTimes): number {
  return amount(step.supply) + amount(step.handOver) + amount(step.transfer)
}

function waitFigures(steps: readonly StepTimes[], counted: Evidence['waits']): Accounting['wait'] {
  // Of joined steps only their mean is known.
  const each = (step: StepTimes) => (amount(step.supply) + amount(step.handOver)) / countOf(step)
  const found = steps.map((step): Weighted => [each(step), countOf(step)])
  const sum = found.reduce((total, [ms, count]) => total + ms * count, 0)
  const count = found.reduce((total, [, steps]) => total + steps, 0)
  const known = counted?.map(([ms, count]): Weighted => [amount(ms), amount(count)])
  const sorted = (known ?? found).sort(([a], [b]) => a - b)
  const all = sorted.reduce((total, [, steps]) => total + steps, 0)
  const over = sorted.reduce((total, [ms, steps]) => total + (ms > STALL ? steps : 0), 0)
  return {
    mean: ratio(sum, count),
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
    over50us: ratio(over, all),
  }
}

function firstBatch(first: StepTimes, begun: number | undefined): number {
  return begun === undefined ? waitOf(first) : Math.max(0, first.asked + waitOf(first) - begun)
}

function epochGap(steps: readonly StepTimes[]): number | null {
  const starts = steps.filter(step => step.epochStart)
  if (starts.length === 0) return null
  const count = starts.reduce((sum, step) => sum + countOf(step), 0)
  return starts.reduce((sum, step) => sum + waitOf(step), 0) / count
}

/** Share of all waiting at the first batch and at epoch starts. */
function startUp(steps: readonly StepTimes[]): number {
  const waits = (of: readonly StepTimes[]) => of.reduce((sum, step) => sum + waitOf(step), 0)
  return Math.min(1, ratio(waits(steps.filter(step => step.first || step.epochStart)), waits(steps)))
}

function makerFigures(slices: readonly MakerSlice[]): Accounting['makers'] {
  const time = wholeTime(slices)
  const all = allTime(time)
  const rows = slices.reduce((sum, slice) => sum + amount(slice.rows), 0)
  const work = {} as MakerWork
  for (const kind of WORK_KINDS) {
    const ms = slices.reduce((sum, slice) => sum + amount(slice.work[kind]), 0)
    work[kind] = ratio(ms, rows)
  }
  const largest = WORK_KINDS.reduce((most, kind) => (work[kind] > work[most] ? kind : most))
  const timed = slices.filter(hasCpu)
  const timedRows = timed.reduce((sum, slice) => sum + amount(slice.rows), 0)
  const cpu = wholeTime(timed)
  const perSample = (ms: number) => (timedRows > 0 ? ms / timedRows : null)
  const timedWork = timed.reduce((sum, slice) => sum + workOf(slice.work), 0)
  return {
    running: ratio(time.running, all),
    queued: ratio(time.queued, all),
    blocked: ratio(time.blocked, all),
    noSlot: ratio(time.noSlot, all),
    from: timedWork > 0 ? 'cpu' : all > 0 ? 'kinds' : 'none',
    work,
    stage: work[largest] > 0 ? largest : null,
    cpuMsPerSample: perSample(cpu.running),
    delayMsPerSample: perSample(cpu.queued),
    blockedMsPerSample: perSample(cpu.blocked),
  }
}

function ioFigures({ makers, from, to, cache }: Evidence): Accounting['io'] {
  const sum = (of: (slice: MakerSlice) => number) => makers.reduce((all, slice) => all + amount(of(slice)), 0)
  const bytes = sum(slice => slice.bytes)
  const reads = sum(slice => slice.reads)
  const opening = sum(slice => slice.work.open)
  const wanted = cache ? amount(cache.hits) + amount(cache.waits) + amount(cache.loads) : 0
  return {
    bytes,
    bytesPerSecond: ratio(bytes, (to - from) / 1000),
    meanRead: reads > 0 ? bytes / reads : null,
    opens: sum(slice => slice.opens),
    openShare: ratio(opening, opening + sum(slice => slice.work.read)),
    cacheHits: cache && wanted > 0 ? amount(cache.hits) / wanted : null,
  }
}

/** Where the makers are unknown, nothing else can be said than that none was seen at work. */
const UNSEEN: MakerTime = { running: 0, queued: 0, blocked: 0, noSlot: 1 }

/** Of each step: how its wait for supply is divided, as shares that add up to 1. */
function supplyShares(steps: readonly StepTimes[], makers: readonly MakerSlice[]): MakerTime[] {
  const slices = new SlicesByTime(makers)
  const waits = steps.map(waitingOf)
  const waited = new Map<MakerSlice, number>()
  for (const { from, to, density } of waits)
    slices.between(from, to, (slice, ms) => waited.set(slice, (waited.get(slice) ?? 0) + ms * density))

  const shares = new Map<MakerSlice, MakerTime>()
  for (const [slice, ms] of waited) {
    const share = whileWaiting(slice, ms)
    if (share) shares.set(slice, share)
  }
  const all = noTime()
  const found = waits.map(({ from, to, density }) => {
    const time = noTime()
    slices.between(from, to, (slice, ms) => {
      const share = shares.get(slice)
      if (share) addTime(time, share, ms * density)
    })
    addTime(all, time)
    return time
  })
  const rest = shareOf(all) ?? shareOf(wholeTime(makers)) ?? UNSEEN
  return found.map(time => shareOf(time) ?? rest)
}

/** When the trainer waited. Of joined steps it is only known how much of their time. */
function waitingOf(step: StepTimes): { from: number; to: number; density: number } {
  const supply = amount(step.supply)
  if (step.count <= 1) return { from: step.asked, to: step.asked + supply, density: 1 }
  const length = supply + amount(step.handOver) + amount(step.transfer) + amount(step.compute)
  return { from: step.asked, to: step.asked + length, density: length > 0 ? supply / length : 0 }
}

/** All time of the makers. */
function wholeTime(makers: readonly MakerSlice[]): MakerTime {
  const time = noTime()
  for (const slice of makers) addTime(time, timeOf(slice))
  return time
}

function shareOf(time: MakerTime): MakerTime | undefined {
  const all = allTime(time)
  if (!(all > 0 && Number.isFinite(all))) return undefined
  const share = noTime()
  for (const name of MAKER_TIMES) share[name] = time[name] / all
  return share
}
