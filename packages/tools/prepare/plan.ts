/** What a training run takes: steps, days, bytes and money; and what it takes with a feed that is too slow for it. */
import { MillraceError } from '../../core/basics/errors.js'

export interface PlanWanted {
  /** Tokens or samples to train on, and those of one step of all ranks together. */
  all: number
  perStep: number
  /** Steps a second that the trainer makes when it never waits … */
  stepsPerSecond?: number
  /** … or what that follows from: the model, and the operations a second that a GPU does for it. */
  model?: { parameters: number; flops: number }
  gpus: number
  /** Of a GPU hour. */
  price?: number
  /** Bytes of a stored token or sample. */
  bytes: number
  /** Tokens or samples a second that the feed gives, all machines together. */
  feed?: number
}

/** One way through the run: as fast as the trainer goes, or as the feed lets it. */
export interface PlanWay {
  stepsPerSecond: number
  /** Tokens or samples. */
  perSecond: number
  seconds: number
  /** Share of the time that GPUs compute. */
  busy: number
  gpuHours: number
  cost?: number
}

export interface Plan {
  steps: number
  /** Bytes a second that are read while the trainer never waits. */
  bytesPerSecond: number
  trainer: PlanWay
  /** With the feed; absent where its rate is not known. */
  fed?: PlanWay
}

/** Operations of a training step for each parameter and token: forwards 2, backwards 4. */
const OPERATIONS = 6

export function planRun(wanted: PlanWanted): Plan {
  const { all, perStep, feed, bytes } = wanted
  const perSecond = trainerSteps(wanted)
  const steps = Math.ceil(all / perStep)
  const way = (stepsPerSecond: number): PlanWay => {
    const seconds = steps / stepsPerSecond
    const gpuHours = (seconds / 3600) * wanted.gpus
    return {
      stepsPerSecond,
      perSecond: stepsPerSecond * perStep,
      seconds,
      busy: stepsPerSecond / perSecond,
      gpuHours,
      ...(wanted.price !== undefined && { cost: gpuHours * wanted.price }),
    }
  }
  return {
    steps,
    bytesPerSecond: perSecond * perStep * bytes,
    trainer: way(perSecond),
    ...(feed !== undefined && { fed: way(Math.min(perSecond, feed / perStep)) }),
  }
}

/** Steps a second without any wait for data. */
function trainerSteps({ stepsPerSecond, model, gpus, perStep }: PlanWanted): number {
  if (stepsPerSecond !== undefined) return stepsPerSecond
  if (model === undefined)
    throw new MillraceError(
      'how fast the trainer is, is not known: give its steps a second, or its parameters and the operations of a GPU',
    )
  return (gpus * model.flops) / (OPERATIONS * model.parameters * perStep)
}
