/**
 * The caches of this process. Rings that read the same data in the same order share one: the ranks of a feed then load each
 * unit once together. Rings of other feeds have another, since "wanted next" is counted on a feed's own line of draws, and two
 * lines can't be compared.
 */
import { MAX_MAKERS } from '../../batch/ring.js'
import { createBlockCache, forgetRing, MOST_RINGS } from '../../store/block-cache.js'
import { vacateBuffer } from '../../system/memory/memory.js'
import type { CacheHandle } from '../plan/job.js'

interface Shared {
  data: CacheHandle['data']
  /** Seats that are taken. */
  places: Set<number>
}

const caches = new Map<string, Shared>()

/**
 * A seat in the cache for what `key` tells: made now, or one that another ring has begun. `alone`: the rows are made in the
 * calling thread.
 */
export function joinCache(key: string, bytes: number, alone: boolean): CacheHandle {
  // One that is full has a neighbour.
  if (caches.get(key)?.places.size === MOST_RINGS) return joinCache(`${key}+`, bytes, alone)
  let shared = caches.get(key)
  if (shared === undefined) {
    // Rings without workers have numbers of makers of their own, behind those of the pool.
    shared = { data: createBlockCache({ bytes, makers: MAX_MAKERS + MOST_RINGS }), places: new Set() }
    caches.set(key, shared)
  }
  let place = 0
  while (shared.places.has(place)) place++
  shared.places.add(place)
  return { data: shared.data, ring: place, ...(alone && { alone }) }
}

/** Gives a seat back. The memory goes with the last one. */
export function leaveCache({ data, ring }: CacheHandle): void {
  for (const [key, shared] of caches) {
    if (shared.data !== data || !shared.places.delete(ring)) continue
    forgetRing(data, ring)
    if (shared.places.size > 0) return
    caches.delete(key)
    vacateBuffer(data.memory)
    return
  }
}
