/** A client's run, watched from the engine: its own spans are read through /proc, the engine's are here. */
import { type AttachedSpans, attachSpans } from '../../spans/attach.js'
import { SpanFile } from '../../spans/file.js'
import type { Serving } from '../serve/serving.js'
import { LiveFeed } from './feed.js'

/** Throws where the log can't be written. `trainer`: the client's process. */
export function liveOf({ feeding, options, opened }: Serving, trainer: number): LiveFeed {
  let spans: AttachedSpans | undefined
  const trainerSpans = () => {
    try {
      spans ??= attachSpans(trainer)
    } catch {
      return undefined // not there yet, or not to be read
    }
    const own = spans.rings().filter(({ engine }) => engine === process.pid)
    const ring = own.findLast(({ engineRing }) => engineRing === feeding.id)
    return ring && { reader: spans, ring: ring.ring }
  }
  const named = SpanFile.shared()?.reader.rings()
  return new LiveFeed({
    ...{ ring: feeding.id, trainer, options, hashes: opened.plan.hashes, trainerSpans },
    ...{ log: options.log, cache: () => feeding.cacheStats },
    feed: named?.find(({ ring }) => ring === feeding.id)?.name ?? options.name ?? 'feed',
    onClose: () => spans?.close(),
  })
}
