/** What every consumer begins with: the plan of a feed, its steps from a saved state on, and the makers at work. */
import type { NormalFeed } from '../define/types.js'
import { usualCache } from '../engine/plan/budget.js'
import { type FeedPlan, planFeed } from '../engine/plan/plan.js'
import { sequenceNotice } from '../engine/plan/sequence.js'
import { cachedSources } from '../engine/plan/unit-facts.js'
import { unitNotices } from '../engine/plan/unit-price.js'
import { Feeding } from '../engine/ring/feeding.js'
import type { BlendChange } from '../order/blend/changes.js'
import { checkState, readState, type State } from '../order/state.js'
import { batchSize, type Place, type StepShare, stepPlan } from '../order/steps.js'
import { checkNotOver, loopLimits } from './limits.js'
import type { OpenedOptions } from './options.js'
import { workersBeside } from './tuning.js'

export interface Opened {
  plan: FeedPlan
  share: StepShare
  place: Place
  changes: BlendChange[]
}

/** Opens the sources and finds the place to begin at. Nothing is made yet. */
export async function openPlan(feed: NormalFeed, options: OpenedOptions): Promise<Opened> {
  const saved = options.state === undefined ? undefined : readState(options.state)
  const plan = await planFeed(feed, {
    ...options,
    changes: saved?.changes ?? [],
    epoch: saved?.epoch,
    measure: async (of, field, source, progress) => {
      const { measureLengths } = await import('../engine/pool/measure.js')
      return measureLengths(of, field, source, options, progress)
    },
  })
  tellOfUnits(plan, options)
  const { sequence, notice } = options
  if (sequence !== undefined && sequence.world > 1) notice?.(sequenceNotice(sequence, options))
  const changes = plan.order.settled?.() ?? []
  const { rank, world } = options
  const share: StepShare = {
    length: plan.length,
    world,
    rank,
    batch: plan.rows ?? batchSize(feed.batch, world),
    last: feed.batch.last,
    ...(plan.order.bins && { bins: plan.order.bins }),
  }
  const place = saved ? placeOf(saved, plan, share, options.notice) : { epoch: 0, position: 0 }
  checkNotOver(feed, place)
  await tellOfBlend(plan, share, place, options)
  return { plan, share, place, changes }
}

/** Says how often the corpora of a blend are seen: in the whole run, where it is known how long that is. */
async function tellOfBlend(
  plan: FeedPlan,
  share: StepShare,
  start: Place,
  options: OpenedOptions,
): Promise<void> {
  const { notice } = options
  if (notice === undefined || !('blend' in plan.feed.source)) return
  const { epochs, steps } = loopLimits(plan.feed, options, share)
  const { blendNotices } = await import('../engine/plan/blend-report.js')
  const limited = steps !== undefined || typeof epochs === 'number'
  const end = limited ? stepPlan({ ...share, start, epochs, steps }).end : undefined
  for (const text of blendNotices(plan, end && end.epoch * plan.length + end.position)) notice(text)
}

/** Says, once a feed, what its order costs where its sources have units of many rows. */
function tellOfUnits(plan: FeedPlan, { cacheBytes, notice }: OpenedOptions): void {
  const sources = cachedSources(plan)
  if (notice === undefined || sources.every(({ units }) => units === undefined)) return
  for (const text of unitNotices(sources, cacheBytes ?? usualCache(sources))) notice(text)
}

/** The place of a saved state, if this feed can take it up; what is different and no reason to refuse is said. */
export function placeOf(
  saved: State,
  plan: FeedPlan,
  share: StepShare,
  notice?: (text: string) => void,
): Place {
  for (const text of checkState(saved, plan)) notice?.(text)
  const { epoch, position } = saved
  return stepPlan({ ...share, start: { epoch, position } }).start
}

/** Sets the makers to work. */
export function startFeeding(
  { plan, place }: Pick<Opened, 'plan' | 'place'>,
  options: OpenedOptions,
  limit: number,
): Promise<Feeding> {
  return Feeding.start(plan, { ...options, workers: workersBeside(options) }, { ...place, limit })
}
