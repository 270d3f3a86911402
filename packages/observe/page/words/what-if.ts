/** What would be, if: the sliders, and what the model answers, in words and numbers. */
import type { Change, Prediction, Remedy } from '../../evidence.js'
import type { Fit } from '../../model/fit.js'
import { depthOf } from '../../model/predict.js'
import { LEAST_PART } from '../../verdict/thresholds.js'
import { cores, ms, percent } from '../../verdict/units.js'

export interface Knob {
  name: string
  /** Where the slider stands, and where it may go. */
  value: number
  least: number
  most: number
  /** A value in words; and as it is now, which may lie between what a slider can say. */
  told: (value: number) => string
  now: string
  /** After "if there were": `12 workers`. */
  wish: (value: number) => string
  change: (value: number) => Change
}

/** Sliders of factors go by fourths of a doubling. */
const STEPS = 4
const factor = (value: number) => 2 ** (value / STEPS)

export function knobsOf(fit: Fit): Knob[] {
  const most = (least: number, value: number) => Math.max(least, Math.ceil(2 * value))
  const depth = depthOf(fit, {})
  const storage = (value: number) =>
    fit.blocked.value < 1e-6 ? 'none seen' : `${ms(fit.blocked.value * factor(value))} a sample`
  const step = (value: number) => ms(fit.step.value * factor(value))
  return [
    {
      name: 'workers',
      value: fit.makers,
      least: 0,
      most: most(16, fit.makers),
      told: String,
      now: String(fit.makers),
      wish: n => `${n} ${n === 1 ? 'worker' : 'workers'}`,
      change: workers => ({ workers }),
    },
    {
      name: 'batches ahead',
      value: depth,
      least: 1,
      most: most(16, fit.depth),
      told: String,
      now: String(depth),
      wish: n => `${n} ${n === 1 ? 'batch' : 'batches'} ahead`,
      change: depth => ({ depth }),
    },
    {
      name: 'cores for workers',
      value: Math.max(0.5, Math.round(fit.cores.value * 2) / 2),
      least: 0.5,
      most: most(16, fit.cores.value),
      told: cores,
      now: cores(fit.cores.value),
      wish: n => `${cores(n)} cores for workers`,
      change: cores => ({ cores }),
    },
    {
      name: 'waiting for storage',
      value: 0,
      least: -4 * STEPS,
      most: 4 * STEPS,
      told: storage,
      now: storage(0),
      wish: n => `${storage(n)} of waiting for storage`,
      change: value => ({ blockedPerSample: factor(value) }),
    },
    {
      name: 'training step',
      value: 0,
      least: -3 * STEPS,
      most: 3 * STEPS,
      told: step,
      now: step(0),
      wish: n => `a training step of ${step(n)}`,
      change: value => ({ stepMs: fit.step.value * factor(value) }),
    },
  ]
}

const LIMITS: Record<Exclude<Prediction['bound'], 'trainer'>, string> = {
  makers: 'the workers',
  cores: 'the cores',
  bytes: 'the storage',
}

/** What the first sentence advises is said with its numbers: they are of the run's own claims, made once more. */
export function asAdvised(then: Prediction, change: Change, remedies: readonly Remedy[]): Prediction {
  const wanted = JSON.stringify(change)
  const known = remedies.find(({ set }) => set !== undefined && JSON.stringify(set) === wanted)
  if (known === undefined || known.predictedGain === null || known.interval === null) return then
  return { ...then, gain: known.predictedGain, interval: known.interval }
}

/** What limits (`then`: after a change), and whether anything more could be gained. */
export function limitWords({ bound, lost }: Pick<Prediction, 'bound' | 'lost'>, then = false): string {
  const limit = then ? 'The limit is then' : 'The limit'
  if (bound !== 'trainer') return `${limit}: ${LIMITS[bound]}.`
  if (lost < LEAST_PART) return `${limit}: your training step. No feed could gain more.`
  return `${limit}: your training step. The ${percent(lost)} that are still lost go into taking batches over and into waits now and then.`
}

/** Samples/s as measured. */
export function measuredRate({ rows, measured }: Fit): number {
  return (1000 * rows) / Math.max(measured.value, 1e-6)
}

/** The interval of the rate (samples/s): it ends at what the trainer could take. `possible`: null where that is not known. */
export function ratesOf(fit: Fit, change: Change, then: Prediction, certain: boolean) {
  const stretch = change.stepMs === undefined || fit.step.value <= 0 ? 1 : change.stepMs / fit.step.value
  const ideal = fit.ideal * stretch
  const possible = certain && ideal > 0 ? Math.max((1000 * fit.rows) / ideal, then.samplesPerSecond) : null
  const [least, most] = then.interval.map(by => measuredRate(fit) * (1 + by))
  return { least, most: Math.min(most, possible ?? Number.POSITIVE_INFINITY), possible }
}
