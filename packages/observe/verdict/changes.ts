/** Remedies that change workers or depth: the values are computed, and what they gain is predicted. */
import type { Change, Prediction, Remedy } from '../evidence.js'
import { LEAST_AHEAD } from '../model/fit.js'
import { predict } from '../model/predict.js'
import { replay } from '../model/replay.js'
import type { Case } from './case.js'
import { FREE_CORE, LEAST_GAIN, MOST, QUEUED } from './thresholds.js'
import { bytes, someCores } from './units.js'

/** PyTorch's, as python/millrace/_diagnose/named.py calls it. Of other loaders the options are not known. */
const DATA_LOADER = 'torch.utils.data.DataLoader'
/** The most that can be asked for: as packages/core/batch/control-words.ts has it. */
const MOST_WORKERS = 256
const MOST_DEPTH = 32
/** Steps that are this near to the best are as good; fewer workers cost less. */
const NEAR = 1.02
/** More depth may take at most this share of the memory that is free. */
const FREE_SHARE = 0.5

/** The fewest workers that reach the demand, or what is nearest to it. Undefined: no other number is better. */
function bestWorkers({ f }: Case): number | undefined {
  const step = (workers: number) => predict(f, { workers }).stepMs
  // Beyond this, makers have no claim, or no core and nothing to wait for.
  const running = f.cpu.value + f.blocked.value > 0 ? f.cpu.value / (f.cpu.value + f.blocked.value) : 1
  const useful = Math.ceil((f.cores.value + 1) / Math.max(running, 0.02))
  const claimed = 'each' in f.ahead ? MOST_WORKERS : f.ahead.batches * f.claims
  const most = Math.max(1, Math.min(MOST_WORKERS, claimed, useful))
  const all = Array.from({ length: most }, (_, i) => step(i + 1))
  const best = Math.min(...all)
  const workers = all.findIndex(ms => ms <= best * NEAR) + 1
  return workers === f.makers ? undefined : workers
}

/**
 * So many workers, or some more where that gains: claims are made once more, since makers that are just enough on average are
 * at times too few.
 */
function replayed({ e, a, f }: Case, least: number): { workers: number } & Prediction {
  const most = Math.max(least, Math.min(MOST_WORKERS, f.depth < 2 ? f.claims : f.depth * f.claims))
  const numbers = [least, least + 1, Math.ceil(1.5 * least)].map(workers => Math.min(workers, most))
  const tried = numbers
    .filter((workers, i) => numbers.indexOf(workers) === i)
    .map(workers => ({ workers, ...replay(e, { workers }, a) }))
  const best = Math.min(...tried.map(({ stepMs }) => stepMs))
  return tried.find(({ stepMs }) => stepMs <= best * NEAR)!
}

/** No core is idle and makers queue for them: more of them only queue longer, unless they mostly wait for something else. */
function coresFull({ e, a }: Case): boolean {
  const { running, queued, blocked } = a.makers
  const full = e.host !== null && e.host.idleCores < FREE_CORE && queued >= QUEUED * (running + queued)
  return full && blocked < MOST * (running + queued + blocked)
}

/** More workers, if that gains. */
export function moreWorkers(c: Case): Remedy[] {
  if (coresFull(c)) return []
  const least = bestWorkers(c)
  if (least === undefined || least <= c.f.makers) return []
  const { workers, gain, interval } = replayed(c, least)
  if (gain < LEAST_GAIN) return []
  const cpu = Math.min(workers, c.f.cores.value) * shareOfCpu(c)
  const warning =
    cpu > 0.8 * c.f.cores.value
      ? `They use up to ${someCores(cpu)}: look whether the trainer's own step gets longer`
      : undefined
  return [{ ...setting(c, { workers }), predictedGain: gain, interval, ...(warning && { warning }) }]
}

function shareOfCpu({ f }: Case): number {
  return f.cpu.value / Math.max(f.cpu.value + f.blocked.value, 1e-9)
}

/** Batches made ahead, where there are none. */
export function aheadOfTrainer(c: Case): Remedy[] {
  if (c.f.makers === 0 || c.f.depth > 1) return []
  const { gain, interval } = predict(c.f, { depth: 2 })
  return gain < LEAST_GAIN ? [] : [{ ...setting(c, { depth: 2 }), predictedGain: gain, interval }]
}

/** More batches ahead, for the waits that come now and then: recorded claims tell what they gain. */
export function moreDepth(c: Case): Remedy[] {
  const { facts } = c.e
  if (facts.workers === 0) return []
  const fits = (depth: number) =>
    facts.freeBytes === undefined || (depth - facts.depth) * facts.slotBytes <= FREE_SHARE * facts.freeBytes
  const depths = [2, 4].map(times => Math.min(MOST_DEPTH, Math.max(2, facts.depth * times)))
  const tried = depths
    .filter((depth, i) => depth > facts.depth && depths.indexOf(depth) === i && fits(depth))
    .map(depth => ({ depth, ...replay(c.e, { depth }, c.a) }))
  const best = Math.min(...tried.map(({ stepMs }) => stepMs))
  const chosen = tried.find(({ stepMs }) => stepMs <= best * NEAR)
  if (chosen === undefined || chosen.gain < LEAST_GAIN) return []
  const { depth, gain, interval } = chosen
  const more = (depth - facts.depth) * facts.slotBytes
  const warning = more > 0 ? `It takes ${bytes(more)} more of memory` : undefined
  return [{ ...setting(c, { depth }), predictedGain: gain, interval, ...(warning && { warning }) }]
}

/** Fewer workers, where they only crowd the trainer: none is taken that it needs. */
export function fewerWorkers(c: Case): Remedy[] {
  const workers = bestWorkers(c)
  if (workers === undefined || workers >= c.f.makers) return []
  return [
    {
      ...setting(c, { workers }),
      predictedGain: null,
      interval: null,
      warning: 'How much less they slow the trainer is not predicted: measure it',
    },
  ]
}

/** A number of workers or a depth, as each program takes it. */
function setting(
  { e: { facts } }: Case,
  { workers, depth }: Change,
): Pick<Remedy, 'action' | 'command' | 'set'> {
  const what = workers !== undefined ? `${workers} ${workers === 1 ? 'worker' : 'workers'}` : `Depth ${depth}`
  const was = workers !== undefined ? `${facts.workers}` : `${facts.depth}`
  const name = workers !== undefined ? 'workers' : 'depth'
  const value = workers ?? depth!
  if (facts.foreign !== undefined) {
    const option =
      workers !== undefined
        ? `num_workers=${workers}`
        : `prefetch_factor=${Math.ceil(depth! / Math.max(1, facts.workers))}`
    const known = facts.foreign === DATA_LOADER
    const how = known ? option : `with a DataLoader, ${option}`
    return { action: `${what} in place of ${was}: ${how}`, ...(known && { command: option }) }
  }
  const live = facts.workers === 0 ? '' : `, or loader.tune(${name}=${value}) while it runs`
  const deeper = facts.workers === 0 && facts.depth < LEAST_AHEAD ? LEAST_AHEAD : undefined
  const command = `--${name} ${value}${deeper === undefined ? '' : ` --depth ${deeper}`}`
  return {
    action: `${what} in place of ${was}: ${command}${live}`,
    command,
    set: {
      ...(workers !== undefined ? { workers } : { depth }),
      ...(deeper !== undefined && { depth: deeper }),
    },
  }
}
