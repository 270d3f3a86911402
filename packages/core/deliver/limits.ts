/** How much one loop covers: epochs, steps, or tokens. */
import { DefinitionError, StateError } from '../basics/errors.js'
import type { NormalFeed } from '../define/types.js'
import { type Place, type StepShare, stepPlan } from '../order/steps.js'

export interface LoopLimits {
  /** Undefined: one epoch, or as many as the steps need; null: without end. */
  epochs?: number | null
  steps?: number
}

/** Refuses to begin behind the end of an order that goes through its samples once. */
export function checkNotOver({ order }: NormalFeed, { epoch }: Place): void {
  if (order.kind !== 'megatron' || epoch === 0) return
  throw new StateError(
    `Megatron's order ends here: it goes once through the samples of its run (${order.samples ?? 'all'}). ` +
      'A longer run has another order from its first sample on, as in Megatron: open the feed with another order, and without the state',
  )
}

/** Whether a loop goes on through epochs by itself: over tokens in random order, of which a run takes as many as it needs. */
export function isEndless({ rowTokens, order }: NormalFeed): boolean {
  return rowTokens !== undefined && order.kind !== 'none' && order.kind !== 'megatron'
}

/**
 * What the options say for this feed. Loops over shuffled tokens go on through epochs: what ends them is steps, or tokens; or
 * the end of Megatron's order, which has one epoch.
 */
export function loopLimits(
  feed: NormalFeed,
  { epochs, steps, tokens }: LoopLimits & { tokens?: number },
  { world, batch }: StepShare,
): LoopLimits {
  const { rowTokens, order } = feed
  const { bins } = feed.batch
  // A batch by tokens is full, or nearly so.
  const batchTokens = bins?.tokens ?? (rowTokens === undefined ? undefined : rowTokens * batch)
  if (tokens !== undefined && batchTokens === undefined)
    throw new DefinitionError('options.tokens', 'only a feed of tokens ends after tokens: give "steps"')
  const enough = tokens === undefined ? undefined : Math.ceil(tokens / (batchTokens! * world))
  const fewest = enough === undefined || steps === undefined ? (steps ?? enough) : Math.min(steps, enough)
  if (order.kind === 'megatron') {
    if (typeof epochs === 'number' && epochs > 1)
      throw new DefinitionError(
        'options.epochs',
        `Megatron's order goes once through the samples of its run; ${epochs} epochs of the files follow from "samples"`,
      )
    return { epochs: epochs ?? 1, steps: fewest }
  }
  return { epochs: epochs === undefined && isEndless(feed) ? null : epochs, steps: fewest }
}

/** A plain `for` may be followed by another: the next epoch is begun early. A loop of given length is not. */
export function prefetchLimit({ epochs, steps }: LoopLimits, until: number): number {
  return epochs === undefined && steps === undefined ? Infinity : until
}

/** Steps of one loop that begins at a place. */
export function loopSteps({ epochs, steps }: LoopLimits, share: StepShare, start: Place): number {
  // Steps alone span as many epochs as they need.
  const limits = { epochs: epochs === undefined ? (steps === undefined ? 1 : null) : epochs, steps }
  return stepPlan({ ...share, ...limits, start }).total
}
