/**
 * The caches of this process. Rings that read the same data in the same order share one: the ranks of a feed then load each
 * unit once together. Rings of other feeds have another, since "wanted next" is counted on a feed's own line of draws, and two
 * lines can't be compared.
 */
import { MAX_MAKERS } from '../../batch/ring.js'
import { createBlockCache, forgetRing, MOST_RINGS } from '../../store/block-cache.js'
import { vacateBuffer } from '../../system/memory/memory.js'
import type { CacheSeat } from '../plan/job.js'

interface Shared {
  data: CacheSeat['data']
  /** Seats that are taken. */
  seats: Set<number>
}

const caches = new Map<string, Shared>()

/**
 * A seat in the cache for what `key` tells: made now, or one that another ring has begun. `alone`: the rows are made in the
 * calling thread.
 */
export function joinCache(key: string, bytes: number, alone: boolean): CacheSeat {
  // One that is full has a neighbour.
  if (caches.get(key)?.seats.size === MOST_RINGS) return joinCache(`${key}+`, bytes, alone)
  let shared = caches.get(key)
  if (shared === undefined) {
    // Rings without workers have numbers of makers of their own, behind those of the pool.
    shared = { data: createBlockCache({ bytes, makers: MAX_MAKERS + MOST_RINGS }), seats: new Set() }
    caches.set(key, shared)
  }
  let seat = 0
  while (shared.seats.has(seat)) seat++
  shared.seats.add(seat)
  return { data: shared.data, ring: seat, ...(alone && { alone }) }
}

/** Gives a seat back. The memory goes with the last one. */
export function leaveCache({ data, ring }: CacheSeat): void {
  for (const [key, shared] of caches) {
    if (shared.data !== data || !shared.seats.delete(ring)) continue
    forgetRing(data, ring)
    if (shared.seats.size > 0) return
    caches.delete(key)
    vacateBuffer(data.memory)
    return
  }
}
