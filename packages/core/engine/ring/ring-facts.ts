/** What a reader of the spans of a ring has to know of it. */

import { basename } from 'node:path'
import { formatCalled } from '../../define/format.js'
import type { NormalFeed } from '../../define/types.js'
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

/** `tar train-{0000..0015}.tar`: the kind of the source, and the last part of its first path, if it is of files. */
export function ringName({ source }: NormalFeed, given?: string): string {
  if (given !== undefined) return given
  const [[kind, about]] = Object.entries(source)
  const format = formatCalled(kind)
  const path = format === undefined || format.facts?.untitled ? undefined : firstText(about)
  return path === undefined ? kind : `${kind} ${basename(path)}`
}

function firstText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return undefined
  for (const part of Object.values(value)) {
    const found = firstText(part)
    if (found !== undefined) return found
  }
  return undefined
}
