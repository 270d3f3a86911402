/** What a reader of the spans of a ring has to know of it. */
import type { RingFacts } from '../../spans/file.js'
import type { SpanLevel } from '../../spans/span-words.js'
import type { Job } from '../plan/job.js'

/** The pool says later how many workers there are. */
export function ringFacts(
  { layout, share, feed, order, observe }: Job,
  depth: number,
): RingFacts & { rank: number; world: number; level: SpanLevel | undefined } {
  const { chunks, stride, rows, bytes } = layout
  const { length, rank, world, batch } = share
  const whole = feed.batch.last === 'drop' ? Math.floor : Math.ceil
  // Where batches go by tokens, epochs differ.
  const steps = order.bins === undefined && Number.isFinite(length) ? whole(length / (world * batch)) : 0
  return {
    rank,
    world,
    level: observe,
    workers: 0,
    depth,
    claims: Math.ceil(chunks / stride),
    rows,
    slotBytes: bytes,
    steps,
  }
}
