/**
 * Steps of batches by tokens: a step of W ranks takes W bins, rank r the r-th of them. Epochs have different numbers of bins,
 * so steps are counted from epoch to epoch; within one it is the arithmetic of steps.ts, with bins for positions.
 */
import { DefinitionError, StateError } from '../../basics/errors.js'
import type { Place, RankStep, StepBins, StepLimits, StepPlan, StepShare } from '../step.js'

type Share = StepShare & { bins: StepBins }

export function binSteps({ start, epochs, steps, ...share }: Share & StepLimits): StepPlan {
  const { length, world, last, bins } = share
  const stepsOf = (count: number): number =>
    last === 'drop' ? Math.floor(count / world) : Math.ceil(count / world)
  const stepsIn = (epoch: number): number => stepsOf(bins.count(epoch))

  const here = bins.count(start.epoch)
  if (start.position > here)
    throw new StateError(
      `the state stands at bin ${start.position}, but epoch ${start.epoch} of this feed has ${here} bins: ` +
        'it was saved from other data or another order',
    )
  const over = length > 0 && stepsOf(here - start.position) === 0
  const begin = over ? { epoch: start.epoch + 1, position: 0 } : start
  if (length > 0 && stepsIn(begin.epoch) === 0)
    throw new DefinitionError(
      'batch.tokens',
      `an epoch is ${bins.count(begin.epoch)} batches, fewer than the ${world} ranks, so "last": "drop" would drop ` +
        'all of it; use fewer tokens, or "last": "keep" or "pad"',
    )
  const stepsInFirstEpoch = stepsOf(bins.count(begin.epoch) - begin.position)

  /** Steps before each epoch, counted from the start, as far as they were asked for. */
  const before = [0, stepsInFirstEpoch]
  const stepsBefore = (epochsLater: number): number => {
    while (before.length <= epochsLater)
      before.push(before[before.length - 1] + stepsIn(begin.epoch + before.length - 1))
    return before[epochsLater]
  }
  const byEpochs = length === 0 ? 0 : epochs == null ? Infinity : stepsBefore(epochs)
  const total = Math.min(byEpochs, steps ?? Infinity)

  /** The epoch of the latest step that was asked for, counted from the first. */
  let near = 0
  const at = (step: number): RankStep => {
    if (!Number.isInteger(step) || step < 0 || step >= total)
      throw new RangeError(`step ${step} is not one of the ${total} steps of this plan`)
    while (near > 0 && stepsBefore(near) > step) near--
    while (stepsBefore(near + 1) <= step) near++
    const epoch = begin.epoch + near
    const position = (near === 0 ? begin.position : 0) + (step - stepsBefore(near)) * world
    const ends = step + 1 === stepsBefore(near + 1)
    return new BinStep(
      share,
      epoch,
      Math.floor(position / world),
      position,
      ends ? { epoch: epoch + 1, position: 0 } : { epoch, position: position + world },
    )
  }

  const end = total === Infinity ? undefined : total === 0 ? begin : at(total - 1).nextState
  const stepsInEpoch = length === 0 ? 0 : stepsIn(begin.epoch)
  return { start: begin, total, stepsInFirstEpoch, stepsInEpoch, end, at }
}

class BinStep implements RankStep {
  readonly from: number
  readonly first: number
  readonly count: number
  readonly valid: number

  constructor(
    { bins, world: _, rank, last }: Share,
    readonly epoch: number,
    readonly stepInEpoch: number,
    readonly position: number,
    readonly nextState: Place,
  ) {
    const all = bins.count(epoch)
    const bin = position + rank
    // At the end, ranks without a bin have none, or with "pad" one from the epoch's beginning.
    const shown = bin < all || last !== 'pad' ? Math.min(bin, all) : bin % all
    this.from = bins.first(epoch, position)
    this.first = bins.first(epoch, shown)
    this.count = shown < all ? bins.first(epoch, shown + 1) - this.first : 0
    this.valid = bin < all ? this.count : 0
  }

  filler(row: number): number {
    return this.first + row
  }
}
