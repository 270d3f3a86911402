/**
 * Ranks, epochs and tails: which positions make step s of rank r. All of it is arithmetic, so every rank, every
 * maker and every resumed run computes the same division without speaking to the others.
 *
 *   epoch of n positions, W ranks, B rows a rank, S = W·B positions a step:
 *   │ r0 · B │ r1 · B │ … │ r0 · B │ r1 · B │ … │ rest < S │
 *   └────── step 0 ──────┘└────── step 1 ──────┘  drop: left out │ keep: W runs that differ by at most one
 *                                                 │ pad: filled up with the epoch's first positions
 *
 * Steps are laid from the start position, wherever that is, so a state can be taken up with other W and B.
 */

import { DefinitionError, StateError } from '../basics/errors.js'
import type { NormalBatch } from '../define/types.js'
import { binSteps } from './bins/steps.js'
import type { Place, RankStep, StepLimits, StepPlan, StepShare } from './step.js'

export type { Place, StepPlan, StepShare } from './step.js'

/** Rows of a step on one rank. */
export function batchSize(batch: Pick<NormalBatch, 'size' | 'global'>, world: number): number {
  if (batch.size !== undefined) return batch.size
  if (batch.global === undefined)
    throw new DefinitionError(
      'batch',
      'expected "size" (rows a rank) or "global" (rows of all ranks together)',
    )
  if (batch.global % world !== 0)
    throw new DefinitionError(
      'batch.global',
      `${batch.global} rows can't be divided equally among ${world} ranks; use a multiple of ${world}, or "size"`,
    )
  return batch.global / world
}

/** The steps of one rank from a place on. Throws where an epoch would never make a step. */
export function stepPlan({ start, epochs, steps, ...share }: StepShare & StepLimits): StepPlan {
  check(share, start)
  if (share.bins !== undefined) return binSteps({ ...share, bins: share.bins, start, epochs, steps })
  const { length, world, batch, last } = share
  const size = world * batch
  const stepsOf = (positions: number) =>
    last === 'drop' ? Math.floor(positions / size) : Math.ceil(positions / size)

  const stepsInEpoch = stepsOf(length)
  if (last === 'drop' && stepsInEpoch === 0)
    throw new DefinitionError(
      'batch',
      `an epoch of ${length} samples is smaller than one step of ${world}·${batch} = ${size} (ranks · batch), ` +
        'so "last": "drop" would drop all of it; use a smaller batch, or "last": "keep" or "pad"',
    )

  // At an epoch's end, and where only a tail is left that is dropped, the next epoch begins.
  const over = length > 0 && stepsOf(length - start.position) === 0
  const begin = over ? { epoch: start.epoch + 1, position: 0 } : start
  const { epoch: epoch0, position: position0 } = begin
  const stepsInFirstEpoch = stepsOf(length - position0)

  const stepsOfEpochs = (n: number) => (n === 0 ? 0 : stepsInFirstEpoch + (n - 1) * stepsInEpoch)
  // Empty epochs make no step however many there are.
  const byEpochs = length === 0 ? 0 : stepsOfEpochs(epochs ?? Infinity)
  const total = Math.min(byEpochs, steps ?? Infinity)

  const at = (step: number): RankStep => {
    if (!Number.isInteger(step) || step < 0 || step >= total)
      throw new RangeError(`step ${step} is not one of the ${total} steps of this plan`)
    let epoch = epoch0
    let since = step
    let origin = position0
    let stepsHere = stepsInFirstEpoch
    if (step >= stepsInFirstEpoch) {
      const later = step - stepsInFirstEpoch
      const epochsLater = Math.floor(later / stepsInEpoch)
      epoch = epoch0 + 1 + epochsLater
      since = later - epochsLater * stepsInEpoch
      origin = 0
      stepsHere = stepsInEpoch
    }
    const position = origin + since * size
    const nextState =
      since === stepsHere - 1 ? { epoch: epoch + 1, position: 0 } : { epoch, position: position + size }
    return new Step(share, epoch, Math.floor(position / size), position, nextState)
  }

  const end = total === Infinity ? undefined : total === 0 ? begin : at(total - 1).nextState
  return { start: begin, total, stepsInFirstEpoch, stepsInEpoch, end, at }
}

class Step implements RankStep {
  readonly from: number
  readonly first: number
  readonly count: number
  readonly valid: number

  constructor(
    private readonly share: StepShare,
    readonly epoch: number,
    readonly stepInEpoch: number,
    readonly position: number,
    readonly nextState: Place,
  ) {
    const { length, world, rank, batch, last } = share
    this.from = position
    const rest = length - position
    if (rest >= world * batch || last !== 'keep') {
      this.first = position + rank * batch
      this.count = batch
      this.valid = Math.max(0, Math.min(batch, length - this.first))
    } else {
      const run = Math.floor(rest / world)
      const longer = rest - run * world
      this.first = position + rank * run + Math.min(rank, longer)
      this.count = this.valid = run + (rank < longer ? 1 : 0)
    }
  }

  filler(row: number): number {
    return (this.first + row) % this.share.length
  }
}

function check({ length, world, rank, batch }: StepShare, start: Place): void {
  const whole = (name: string, value: number, least: number) => {
    if (!Number.isSafeInteger(value) || value < least)
      throw new DefinitionError(name, `expected a whole number from ${least}, not ${value}`)
  }
  whole('length', length, 0)
  whole('world', world, 1)
  whole('rank', rank, 0)
  whole('batch', batch, 1)
  if (rank >= world)
    throw new DefinitionError('rank', `rank ${rank} is not one of ${world} ranks: they count from 0`)
  const { epoch, position } = start
  if (!Number.isSafeInteger(epoch) || epoch < 0 || !Number.isSafeInteger(position) || position < 0)
    throw new StateError(`a state can't stand at epoch ${epoch}, position ${position}`)
  if (position > length)
    throw new StateError(
      `the state stands at position ${position}, but an epoch of this feed has ${length} samples: ` +
        'it was saved from other data or another order',
    )
}
