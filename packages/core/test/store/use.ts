/** One unit at a time, as a maker uses a cache: taken, loaded or waited for, and leased. */
import type { BlockCache, Lease, UnitRequest } from '../../store/block-cache.js'

export interface Use extends Omit<UnitRequest, 'user' | 'now' | 'nextUse'> {
  now: number
  nextUse(unit: number): number
  load(into: Uint8Array): readonly Uint8Array[]
}

export function use(cache: BlockCache, unit: number, request: Use): Lease | undefined {
  for (;;) {
    const taken = cache.take(unit, { ...request, now: [request.now], user: unit })
    if (taken === undefined) return undefined
    if (taken.loads) cache.fill(taken, request.load)
    else if (!cache.wait(taken)) continue
    return cache.lease(taken)
  }
}
