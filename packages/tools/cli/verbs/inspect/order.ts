/** How well the order of a feed mixes its samples, and how often it loads row groups and chunks, for `inspect`. */

import { MillraceError } from '../../../../core/basics/errors.js'
import type { NormalFeed } from '../../../../core/define/types.js'
import { usualCache } from '../../../../core/engine/plan/budget.js'
import { planFeed } from '../../../../core/engine/plan/plan.js'
import { cachedSources } from '../../../../core/engine/plan/unit-facts.js'
import { type UnitFigures, unitFigures } from '../../../../core/engine/plan/unit-price.js'
import { count } from '../../units.js'
import { type OrderQuality, orderQuality } from './order-quality.js'

export interface SourceQuality extends OrderQuality {
  /** The entry's name in a blend, else the kind of order. */
  name: string
  units?: UnitFigures
}

/** One result for each source of the feed. Gives the reason where no order can be made of the definition. */
export async function qualityOf(feed: NormalFeed): Promise<SourceQuality[] | string> {
  try {
    const plan = await planFeed(feed)
    const cached = cachedSources(plan)
    const figures = unitFigures(cached, usualCache(cached))
    return plan.attached.map((source, i) => {
      const labels = source.index('label') ?? source.index('cls')
      const units = figures[i]
      return {
        name: plan.sources[i].name ?? feed.order.kind,
        ...orderQuality(plan.order.sources[i], source.count, {
          batch: feed.batch.global ?? feed.batch.size ?? 1,
          ...(labels && { label: row => labels.at(row) }),
          ...(units && { units: source.unitStarts, cacheRows: units.cacheRows }),
        }),
        ...(units && { units }),
      }
    })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return error.message
  }
}

export function qualityText({
  name,
  score,
  mixing,
  spread,
  entropy,
  loadsPerUnit,
  units,
}: SourceQuality): string {
  const parts = [`mixing ${mixing.toFixed(2)}`, `spread ${spread.toFixed(2)}`]
  if (entropy !== undefined) parts.push(`entropy ${entropy.toFixed(2)}`)
  const loads =
    units === undefined || loadsPerUnit === undefined
      ? ''
      : `; each of ${count(units.units)} units is loaded ${loadsPerUnit.toFixed(2)} times an epoch, ` +
        `by a global shuffle ${units.globalLoads.toFixed(2)} times`
  return `${name} scores ${score.toFixed(2)}, where a global shuffle has 1 (${parts.join(', ')})${loads}`
}
