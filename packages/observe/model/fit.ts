/** The figures that the model needs, from a window of a run. The letters are those of docs/measure.md. */
import type { Accounting, Evidence, MakerSlice, MakerWork } from '../evidence.js'
import { clamp, type Estimate, mean, ratio, sum } from './estimate.js'

export interface Fit {
  /** c: CPU time a sample (ms), all makers together. */
  cpu: Estimate
  /** b: time a sample in which its maker neither ran nor waited for a core (ms). */
  blocked: Estimate
  /** What of c ran in processes of functions while the maker waited for them (ms a sample). */
  beside: number
  /** q: bytes a sample, and β: bytes/ms that the storage gives at most. Null: no limit is known. */
  bytes: number
  bytesPerMs: number | null
  /** g: the trainer's own work a step, and h: what taking a batch costs it (ms). */
  step: Estimate
  consumer: Estimate
  /** B: rows of a batch. */
  rows: number
  /** P: cores that makers could have, at the rate that was measured, and what the trainer's process uses a step (core-ms). */
  cores: Estimate
  trainerCpu: number
  /** Cores that all may use, and how many tasks of others compete for them: more makers get a larger share. */
  allowed: number
  crowd: number
  /** Of the time in which makers wanted a core, the share in which they waited for one. */
  queued: number
  makers: number
  /** Batches made ahead; 1 without makers. */
  depth: number
  /** What depth would be with makers: so many batches, or so many for each maker (loaders of others). */
  ahead: { batches: number } | { each: number }
  /** Claims a batch. */
  claims: number
  /** A step as measured, and one with its batch at hand and makers at rest (ms). */
  measured: Estimate
  ideal: number
  /** Whether the system told CPU time and run delay. If not, reading counts as blocked and all else as CPU. */
  timed: boolean
}

/** Cores that makers have at least, whatever was measured: others' use is never so exact that nothing is left. */
const LEAST_CORES = 0.05
/** Standard error of others' cores, as a share of the allowed ones: looks and windows don't begin at the same moment. */
const CORES_SIGMA = 0.04
/** The same of what others use: they come and go. */
const OTHERS_SIGMA = 0.2
/** With at least so much of the work waiting for a core, cores are full: where the machine was not looked at. */
const QUEUED = 0.2
/** CPU time beside the makers, as a share of their waiting in functions, from which it is that of the functions. */
const LEAST_BESIDE = 0.3
/** Waiting for a core, as a share of running and waiting, from which others compete for it. */
const LEAST_DELAY = 0.05
/** Batches made ahead, with which a trainer and its makers work at the same time. */
export const LEAST_AHEAD = 2
/** Twice the reads in flight gain less than this: the storage gives no more. */
export const DOUBLED_GAIN = 0.1

export function fitModel(e: Evidence, a: Accounting): Fit {
  const steps = e.steps.filter(step => !step.first && step.count > 0)
  const step = ratio(
    steps,
    s => s.compute,
    s => s.count,
  )
  const consumer = ratio(
    steps,
    s => s.handOver + s.transfer,
    s => s.count,
  )
  const whole = ratio(
    steps,
    s => s.supply + s.handOver + s.transfer + s.compute,
    s => s.count,
  )
  const measured = steps.length === 0 ? { value: Math.max(a.stepMs, 0), sigma: 0 } : whole
  const rows =
    ratio(
      steps,
      s => s.samples,
      s => s.count,
    ).value ||
    e.facts.rows ||
    1
  const { cpu, blocked, beside, bytes, timed } = perSample(e, rows, measured.value)
  const T = Math.max(measured.value, 1e-6)
  const used = (cpu.value * rows) / T
  const trainer = e.host === null ? 0 : e.host.trainerCores
  // Without workers the trainer's process makes the rows: their CPU is counted once.
  const trainerCpu = Math.max(0, trainer - (e.facts.workers === 0 ? used : 0)) * T
  return {
    cpu,
    blocked,
    beside,
    bytes,
    bytesPerMs: storageLimit(e, a, bytes, rows / T),
    step,
    consumer,
    rows,
    cores: {
      value: Math.max(LEAST_CORES, makerCores(e, used, trainerCpu / T), used),
      sigma: CORES_SIGMA * Math.max(e.facts.cores, 1) + OTHERS_SIGMA * (e.host?.otherCores ?? 0),
    },
    trainerCpu,
    allowed: e.facts.cores,
    crowd: crowdOf(e),
    queued: queuedOf(e),
    makers: e.facts.workers,
    depth: e.facts.workers === 0 ? 1 : Math.max(1, e.facts.depth),
    ahead: aheadOf(e),
    claims: Math.max(1, e.facts.claims),
    measured,
    ideal: clamp(a.idealMs, 0, T),
    timed,
  }
}

export function workOf({ open, read, decode, transform, map, close }: MakerWork): number {
  return open + read + decode + transform + map + close
}

/**
 * A DataLoader makes two batches ahead for each of its workers, unless it is told otherwise. Where there are no workers, a depth of 1
 * was not chosen: workers are advised with more.
 */
function aheadOf({ facts: { workers, depth, foreign } }: Evidence): Fit['ahead'] {
  if (foreign === undefined) return { batches: Math.max(workers === 0 ? LEAST_AHEAD : 1, depth) }
  return { each: workers === 0 ? 2 : Math.max(1, depth / workers) }
}

/** CPU and blocked time a sample. Slices are taken in the order of time, so that blocks are moments, not makers. */
function perSample(
  e: Evidence,
  rows: number,
  stepMs: number,
): Pick<Fit, 'cpu' | 'blocked' | 'beside' | 'bytes' | 'timed'> {
  const slices = e.makers.filter(slice => workOf(slice.work) > 0).sort((a, b) => a.from - b.from)
  const made = sum(slices, slice => slice.rows)
  if (slices.length === 0 || made <= 0) {
    // Nothing is known of the makers: they are as fast as they were, and all of it is CPU.
    const makers = Math.max(1, Math.min(e.facts.workers || 1, e.facts.depth * e.facts.claims || 1))
    const cpu = { value: (stepMs * makers) / rows, sigma: (stepMs * makers) / rows / 4 }
    return { cpu, blocked: { value: 0, sigma: 0 }, beside: 0, bytes: 0, timed: false }
  }
  const bytes = sum(slices, slice => slice.bytes) / made
  const timed = slices.filter(slice => slice.cpu !== null)
  if (sum(timed, slice => slice.rows) > made / 2) {
    const of = (value: (slice: MakerSlice) => number) => ratio(timed, value, slice => slice.rows)
    const [cpu, blocked] = [of(runningOf), of(blockedOf)]
    const beside = besideMakers(e, made, blocked.value)
    return {
      cpu: { ...cpu, value: cpu.value + beside },
      blocked: { ...blocked, value: blocked.value - beside },
      beside,
      bytes,
      timed: true,
    }
  }
  const waits = ({ work }: MakerSlice) => work.open + work.read
  const cpu = ratio(
    slices,
    slice => workOf(slice.work) - waits(slice),
    slice => slice.rows,
  )
  return { cpu, blocked: ratio(slices, waits, slice => slice.rows), beside: 0, bytes, timed: false }
}

/**
 * Functions in Python run in processes of their own: a maker waits for them, and yet they take a core. What the engine's
 * processes used beside the makers' threads is theirs, as far as makers waited in functions (ms a sample).
 */
function besideMakers(e: Evidence, made: number, blocked: number): number {
  if (e.host === null) return 0
  const inFunctions = Math.min(blocked, sum(e.makers, ({ work }) => work.map) / made)
  const ofMakers = sum(e.makers, slice => slice.cpu ?? 0)
  const more = (e.host.engineCores * (e.to - e.from) - ofMakers) / made
  // Other threads of the engine use a little, too.
  return more >= LEAST_BESIDE * inFunctions ? Math.min(more, inFunctions) : 0
}

/** CPU time within its work (ms): what a maker spends on waiting for a slot is no cost of a sample. */
function runningOf({ work, cpu, delay }: MakerSlice): number {
  const wanted = (cpu ?? 0) + (delay ?? 0)
  return wanted > 0 ? (cpu ?? 0) * Math.min(1, workOf(work) / wanted) : 0
}

/** What a maker was neither running nor waiting for a core, within its work (ms). */
function blockedOf({ work, cpu, delay }: MakerSlice): number {
  return Math.max(0, workOf(work) - (cpu ?? 0) - (delay ?? 0))
}

/**
 * Tasks of others that want cores all the time, counted in makers, which give way to others. Tasks share cores evenly: of n that want
 * one, each gets cores / n, and waits for the rest of the time. Makers that hardly wait have no such company.
 */
function crowdOf(e: Evidence): number {
  const cpu = sum(e.makers, slice => slice.cpu ?? 0)
  const delay = sum(e.makers, slice => slice.delay ?? 0)
  const time = sum(e.makers, slice => slice.to - slice.from)
  if (!(cpu > 0) || !(time > 0) || delay < LEAST_DELAY * (cpu + delay)) return 0
  const makers = Math.max(1, e.facts.workers) * Math.min(1, (cpu + delay) / time)
  return Math.max(0, (e.facts.cores * (cpu + delay)) / cpu - makers)
}

function queuedOf(e: Evidence): number {
  const delay = sum(e.makers, slice => slice.delay ?? 0)
  const wanted = sum(e.makers, slice => slice.cpu ?? 0) + delay
  return wanted > 0 ? clamp(delay / wanted, 0, 1) : 0
}

/** Cores that makers could have: those that neither others nor the trainer used. */
function makerCores(e: Evidence, used: number, trainer: number): number {
  const { host, facts } = e
  if (host !== null) return Math.min(host.allowed, facts.cores || host.allowed) - host.otherCores - trainer
  const cpu = sum(e.makers, slice => slice.cpu ?? 0)
  const delay = sum(e.makers, slice => slice.delay ?? 0)
  // The machine was not looked at. Makers that wait for cores have all there are.
  return delay > QUEUED * (cpu + delay) && delay > 0 ? used : facts.cores
}

/** Bytes/ms of a storage that gave no more when twice as much was asked for. Null: no such limit was met. */
function storageLimit(e: Evidence, a: Accounting, bytes: number, rate: number): number | null {
  const gain = doubledGain(e)
  if (gain === null || bytes <= 0 || a.parts.blocked <= 0) return null
  // What ends at the trainer says nothing of the storage.
  const room = a.idealMs > 0 ? a.stepMs / a.idealMs - 1 : Infinity
  if (gain >= Math.min(DOUBLED_GAIN, room / 2)) return null
  return Math.max(rate * bytes, (e.probes.bytesPerSecond ?? 0) / 1000)
}

/** What twice the reads in flight gained. Null: that was not tried. */
export function doubledGain({ probes: { doubled } }: Evidence): number | null {
  if (doubled === undefined || doubled.before.length === 0 || doubled.after.length === 0) return null
  const before = mean(doubled.before)
  return before > 0 ? mean(doubled.after) / before - 1 : null
}
