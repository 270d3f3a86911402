/** A window, its accounting and its fit: what every test of a verdict looks at. */
import type { Accounting, Evidence } from '../evidence.js'
import { clamp, median, sum } from '../model/estimate.js'
import { type Fit, fitModel, workOf } from '../model/fit.js'
import { capacity } from '../model/predict.js'
import {
  ALWAYS_RUNNING,
  AMPLE,
  FREE_CORE,
  GPU_USED,
  LAUNCH_SM,
  LEAST_PART,
  MOST,
  QUEUED,
  SILENT,
  SLOW_START,
  STRAGGLER,
  THROTTLED,
} from './thresholds.js'

export interface Case {
  e: Evidence
  a: Accounting
  f: Fit
}

export function caseOf(e: Evidence, a: Accounting): Case {
  return { e, a, f: fitModel(e, a) }
}

/** Idle cores. Without a look at the machine: makers that hardly queue, on fewer than all cores, leave the others idle. */
export function idleCores({ e, a }: Case): number | null {
  if (e.host !== null) return e.host.idleCores
  const { running, queued } = a.makers
  const free = e.facts.cores - Math.max(1, e.facts.workers) - 1
  return a.makers.delayMsPerSample !== null && queued < (QUEUED / 2) * (running + queued) && free >= 0
    ? free + FREE_CORE
    : null
}

/** Samples/ms that the trainer would take, had it every batch at once. Infinite: there is no trainer. */
export function demand({ f }: Case): number {
  const ms = f.step.value + f.consumer.value
  return ms > 1e-3 * Math.max(f.measured.value, 1e-6) ? f.rows / ms : Infinity
}

/**
 * Whether makers could make all that is asked for, with room to spare, and batches ahead of the trainer. All of them count: too
 * few slots for them are mended by depth, as uneven batches are.
 */
export function ample(c: Case): boolean {
  return c.f.depth > 1 && capacity(c.f, { depth: Math.max(c.f.depth, c.f.makers) }).rate >= AMPLE * demand(c)
}

/** Cores that makers lack to keep up. Without a trainer: to have all of them running. */
export function missingCores(c: Case): number {
  const { f } = c
  const makers = Math.max(1, Math.min(f.makers, f.depth * f.claims))
  const most = makers / Math.max(f.cpu.value + f.blocked.value, 1e-9)
  return f.cpu.value * Math.min(demand(c), Math.max(most, 0)) - f.cores.value
}

/** Share of the time in which the trainer's thread wanted a core and had none. */
export function trainerDelay({ e }: Case): number {
  return e.host?.trainerDelay ?? 0
}

/** Who has the cores that the trainer's thread waits for: a quota, others, or the makers. */
export function takesCores({ e: { host } }: Case): 'cpu-saturated' | 'crowded-host' | 'crowding-trainer' {
  if ((host?.throttled ?? 0) >= THROTTLED) return 'cpu-saturated'
  const others = host?.otherCores ?? 0
  return others >= FREE_CORE && others > (host?.engineCores ?? 0) ? 'crowded-host' : 'crowding-trainer'
}

/**
 * Cores would do, and yet the trainer's thread waits for one: more makers than cores are at work, each of them a little, and
 * together they are in its way.
 */
export function crowdsTrainer(c: Case): boolean {
  const { f, e } = c
  if (trainerDelay(c) < LEAST_PART || f.makers <= e.facts.cores || missingCores(c) > 0) return false
  return takesCores(c) === 'crowding-trainer'
}

/** Makers run in the waits, and where batches are made ahead they are also between them hardly ever without a slot. */
export function alwaysRunning(c: Case, runningInWaits: number): boolean {
  if (runningInWaits < ALWAYS_RUNNING) return false
  return c.f.depth < 2 || 1 - c.a.makers.noSlot >= ALWAYS_RUNNING * ALWAYS_RUNNING
}

/** What of the first batch's time is the data's (ms); all of it, where that was not measured apart. */
function startMs({ e, a }: Case): number {
  const { start } = e.facts
  return Math.min(a.firstBatchMs ?? 0, start === undefined ? Infinity : start.opening + start.making)
}

/** Of all that was seen, the share that the start took. */
export function startShare(c: Case): number {
  const first = c.a.firstBatchMs ?? 0
  return first > 0 ? startMs(c) / (first + 1000 * c.a.seconds) : 0
}

/** Whether the first batch took long, and much of all that was seen: an ordinary start does not count. */
export function slowStart(c: Case): boolean {
  const least = c.e.facts.start === undefined ? SLOW_START.ms : SLOW_START.ofData
  return startMs(c) >= least && startShare(c) >= SLOW_START.share
}

/** Whether half of the waiting was at the first batch or where epochs begin. */
export function waitsAtStarts(c: Case): boolean {
  if (c.a.startUpShare < MOST) return false
  const steps = c.e.steps.filter(step => !step.first)
  const waits = (of: typeof steps) => sum(of, step => step.supply + step.handOver + step.transfer)
  const atEpochs = waits(steps.filter(step => step.epochStart))
  return slowStart(c) || (atEpochs > 0 && atEpochs >= MOST * waits(steps))
}

/** What garbage collection covers: of the trainer's waits, or of the makers' work. */
export function gcShare({ e, f }: Case): number {
  const steps = e.steps.filter(step => !step.first)
  const waits = sum(steps, step => step.supply + step.handOver)
  const trainer =
    waits > 0 ? sum(steps, step => Math.min(step.gc ?? 0, step.supply + step.handOver)) / waits : 0
  // Makers that have nothing to do collect garbage, too: that holds nothing up.
  const work = sum(e.makers, slice => workOf(slice.work))
  const time = Math.max(work, MOST * (work + sum(e.makers, ({ wait, idle }) => wait + idle)))
  const makers = time > 0 && f.rows > 0 ? sum(e.makers, slice => slice.gc) / time : 0
  return clamp(Math.max(trainer, makers), 0, 1)
}

/** A rank that is much slower than the others, in words. */
export function slowRank({ e }: Case): { what: string; share: number } | null {
  const ranks = (e.ranks ?? []).filter(rank => (rank.capacity ?? 0) > 0)
  return slowest(ranks.map(({ rank, capacity }) => ({ what: `rank ${rank}`, speed: capacity! })))
}

/**
 * Whether this rank, whose own batches are ready, is held up by a slower one: ranks go in step, so its wait is the other's
 * supply, and lies within what looks like its own work.
 */
export function waitsForRank(c: Case): boolean {
  if (slowRank(c) === null) return false
  const { ranks = [], facts } = c.e
  return ranks.some(({ rank, supplyMs }) => rank !== facts.rank && supplyMs >= LEAST_PART * c.a.stepMs)
}

/** A maker that is much slower than the others, in words. */
export function slowMaker({ e }: Case): { what: string; share: number } | null {
  const makers = new Map<number, { rows: number; work: number }>()
  for (const { maker, rows, work } of e.makers) {
    const all = makers.get(maker) ?? { rows: 0, work: 0 }
    makers.set(maker, { rows: all.rows + rows, work: all.work + workOf(work) })
  }
  const speeds = [...makers].filter(([, { rows, work }]) => work > 0 && rows > 0)
  return slowest(speeds.map(([maker, { rows, work }]) => ({ what: `worker ${maker}`, speed: rows / work })))
}

function slowest(all: { what: string; speed: number }[]): { what: string; share: number } | null {
  if (all.length < 2) return null
  const middle =
    all.length === 2 ? Math.max(all[0].speed, all[1].speed) : median(all.map(({ speed }) => speed))
  const { what, speed } = all.reduce((least, one) => (one.speed < least.speed ? one : least))
  return speed < STRAGGLER * middle ? { what, share: speed / middle } : null
}

/** Whether a trainer that ran took no more steps towards the end. */
export function fellSilent({ e, a }: Case): boolean {
  const { silentMs = 0, from, to } = e
  return silentMs >= Math.max(SILENT.ms, SILENT.steps * a.stepMs, SILENT.share * (to - from))
}

/** The GPU has work, on few of its multiprocessors. */
export function launchBound({ e }: Case): boolean {
  const gpu = e.host?.gpu
  if (gpu === undefined || gpu.smActive === null) return false
  return gpu.smActive < LAUNCH_SM && (gpu.hasWork === null || gpu.hasWork > GPU_USED)
}

/** What a function of the user's takes of a sample (ms). Decoding and the like run; the CPU that is left is the function's. */
export function inFunction({ a, f }: Case): { cpu: number; blocked: number } {
  const { work, delayMsPerSample } = a.makers
  const always = work.decode + work.transform + work.close
  const share = f.cpu.value / Math.max(f.cpu.value + (delayMsPerSample ?? 0), 1e-9)
  const ran = clamp(f.cpu.value + (delayMsPerSample ?? 0) - always, 0, work.map)
  // Decoding and transforming never wait: what is neither opening nor reading waits in a function, if there is one.
  const elsewhere = f.timed && work.map > 0 ? f.blocked.value - work.open - work.read : 0
  return { cpu: ran * share, blocked: clamp(Math.max(work.map - ran, elsewhere), 0, f.blocked.value) }
}

/** What opening files takes of a sample (ms). Opening and reading are blocked alike; what is left of opening runs. */
export function inOpening({ a, f }: Case): { cpu: number; blocked: number } {
  const { open, read } = a.makers.work
  const delay = a.makers.delayMsPerSample ?? 0
  if (!(open > 0)) return { cpu: 0, blocked: 0 }
  const away = Math.max(0, f.blocked.value - inFunction({ a, f } as Case).blocked)
  const blocked = Math.min(open, (away * open) / (open + read))
  return {
    cpu: Math.min(f.cpu.value, ((open - blocked) * f.cpu.value) / Math.max(f.cpu.value + delay, 1e-9)),
    blocked,
  }
}
