/**
 * What a change would bring, by one formula. A maker carries a claim from reading to closing, so makers are counted, not
 * stages: X = min(M′/(c+b), P/(c+h/B), β/q) samples/ms, and a step takes max(g+h, B/X) where batches are made ahead, and
 * B/X + g + h where they are not.
 */
import type { Change, Prediction } from '../evidence.js'
import { clamp } from './estimate.js'
import type { Fit } from './fit.js'

/**
 * How far the formula itself is off, as a standard error of ln(rate): a little always, and a share of the change that it
 * predicts. Where the trainer is the limit afterwards, its step is known, and only the waits that remain are not.
 */
const MODEL = { least: 0.015, supply: 0.14, trainer: 0.07 }
/** How much slower (or faster) than the formula a run may be that its own figures explain; the rest is not carried over. */
const SCALE = { least: 0.7, most: 1.6 }

/** What makers could make (samples/ms), and what limits it. */
export interface Capacity {
  rate: number
  bound: 'makers' | 'cores' | 'bytes'
}

export function capacity(f: Fit, change: Change = {}): Capacity {
  const cpu = f.cpu.value * (change.cpuPerSample ?? 1)
  const blocked = f.blocked.value * (change.blockedPerSample ?? 1)
  const workers = change.workers ?? f.makers
  const depth = depthOf(f, change)
  const makers = Math.max(1, Math.min(workers, depth * f.claims))
  // Nothing overlaps with depth 1: makers without a claim wait until the others are done.
  const even = depth > 1 ? 1 : f.claims / (Math.ceil(f.claims / makers) * makers)
  // The trainer's CPU follows its steps: with more of them a second, less is left for makers.
  const cores = coresOf(f, change, makers) + f.trainerCpu / Math.max(f.measured.value, 1e-6)
  const bytes = f.bytes * (change.bytesPerSample ?? 1)
  const perMs = f.bytesPerMs === null ? null : f.bytesPerMs * (change.bytesPerSecond ?? 1)
  const limits: Capacity[] = [
    { rate: (makers * even) / Math.max(cpu + blocked, 1e-9), bound: 'makers' },
    { rate: cores / Math.max(cpu + f.trainerCpu / f.rows, 1e-9), bound: 'cores' },
  ]
  if (perMs !== null && bytes > 0) limits.push({ rate: perMs / bytes, bound: 'bytes' })
  return limits.reduce((least, limit) => (limit.rate < least.rate ? limit : least))
}

/** Batches made ahead after a change. Without makers the trainer makes its batch itself, when it needs it. */
export function depthOf(f: Fit, { workers = f.makers, depth }: Change): number {
  if (workers === 0) return 1
  return depth ?? ('each' in f.ahead ? Math.max(1, Math.round(workers * f.ahead.each)) : f.ahead.batches)
}

/** Cores that so many makers get: what others leave, or their share of it where others want all of it. */
export function coresOf(f: Fit, change: Change, makers: number): number {
  if (change.cores !== undefined) return change.cores
  return f.crowd > 0 ? Math.max(f.cores.value, (f.allowed * makers) / (makers + f.crowd)) : f.cores.value
}

export function predict(f: Fit, change: Change): Prediction {
  const now = Math.max(f.measured.value, 1e-6)
  const { ms, bound } = stepAfter(f, change)
  const uncertain = [...shifted(f)].map(other => Math.log(stepAfter(other, change).ms / ms))
  const model = MODEL.least + MODEL[bound === 'trainer' ? 'trainer' : 'supply'] * Math.abs(Math.log(now / ms))
  const noise = f.measured.sigma / now
  const sigma = Math.hypot(model, noise, ...uncertain)
  return predicted(f, change, { ms, sigma, bound })
}

/** A step after a change (ms), with the standard error of its logarithm, as it is told. */
export function predicted(
  f: Fit,
  change: Change,
  { ms, sigma, bound }: { ms: number; sigma: number; bound: Prediction['bound'] },
): Prediction {
  const now = Math.max(f.measured.value, 1e-6)
  const ideal =
    f.ideal * (change.stepMs === undefined || f.step.value <= 0 ? 1 : change.stepMs / f.step.value)
  return {
    samplesPerSecond: (1000 * f.rows) / ms,
    stepMs: ms,
    lost: clamp(1 - ideal / ms, 0, 1),
    gain: now / ms - 1,
    interval: [(now / ms) * Math.exp(-1.96 * sigma) - 1, (now / ms) * Math.exp(1.96 * sigma) - 1],
    bound,
  }
}

/** The step after a change (ms). What the formula does not explain of the step as it is, is carried over. */
function stepAfter(f: Fit, change: Change): { ms: number; bound: Prediction['bound'] } {
  const now = formula(f, {})
  const then = formula(f, change)
  const measured = Math.max(f.measured.value, 1e-6)
  // The makers limit: what slows them beyond the formula slows them afterwards.
  const scale =
    now.bound === 'trainer' ? 1 : clamp((measured - now.apart) / now.supply, SCALE.least, SCALE.most)
  // The trainer limits and still waits, now and then. Faster makers and more batches ahead make that rarer.
  const waits = now.bound === 'trainer' ? Math.max(0, measured - now.ms) : 0
  const rarer = Math.min(2, then.supply / now.supply) / Math.max(0.5, depthOf(f, change) / f.depth)
  const supply = then.supply * scale
  const ms = then.apart > 0 ? then.apart + supply : Math.max(then.trainer, supply)
  const bound = then.apart > 0 || supply > then.trainer ? then.limit : 'trainer'
  return { ms: Math.max(ms + waits * rarer, 1e-6), bound }
}

/** The formula's step (ms): the trainer's side, the makers' side, and what is added where the two don't overlap. */
function formula(f: Fit, change: Change) {
  const { rate, bound: limit } = capacity(f, change)
  const supply = f.rows / rate
  const trainer = (change.stepMs ?? f.step.value) + consumerOf(f, change)
  const ahead = depthOf(f, change) >= 2
  const ms = ahead ? Math.max(trainer, supply) : trainer + supply
  const bound: Prediction['bound'] = ahead && trainer >= supply ? 'trainer' : limit
  return { ms, supply, trainer, apart: ahead ? 0 : trainer, limit, bound }
}

/** What taking a batch costs (ms). Where makers wait for cores, the trainer's thread does so, too: with more cores it waits less. */
function consumerOf(f: Fit, change: Change): number {
  const freed = clamp(((change.cores ?? 0) - f.cores.value) / Math.max(f.allowed - f.cores.value, 1e-9), 0, 1)
  return f.consumer.value * (1 - freed * f.queued)
}

/** The fit, with one figure after the other a standard error higher. */
function* shifted(f: Fit): Generator<Fit> {
  for (const key of ['cpu', 'blocked', 'step', 'consumer', 'cores'] as const) {
    const { value, sigma } = f[key]
    if (sigma > 0) yield { ...f, [key]: { value: value + sigma, sigma } }
  }
}
