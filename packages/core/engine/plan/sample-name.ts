/** The names of samples in a slot. Of rows that move with the epochs of their source, they tell where the row lies in that one. */
import { type Slot, Stamp } from '../../batch/slot.js'
import type { FeedPlan } from './plan.js'

export function sampleName(
  { attached, order }: Pick<FeedPlan, 'attached' | 'order'>,
  slot: Slot,
  row: number,
): string {
  const number = slot.sources[row]
  const source = attached[number]
  const below = slot.rows[row]
  if (source.movesWithEpoch !== 'own') return source.id(below)
  const draw = order.draw(slot.stamps[Stamp.Epoch], slot.positions[row], {
    source: 0,
    row: 0,
    drawn: 0,
    epoch: 0,
  })
  // Weights that were changed since may draw another row there.
  return draw.source === number && draw.row === below ? source.id(below, draw.epoch) : source.id(below)
}

/** The same of a row that is only planned: by the order. */
export function drawnName({ order, attached }: FeedPlan, slot: Slot, row: number): string {
  const draw = { source: 0, row: 0, drawn: 0, epoch: 0 }
  order.draw(slot.stamps[Stamp.Epoch], slot.positions[row], draw)
  return attached[draw.source].id(draw.row, draw.epoch)
}
