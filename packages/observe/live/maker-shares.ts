/** What each worker did in a moment, as shares of its time. */
import { ratio } from '../account/numbers.js'
import { WORK_KINDS } from '../account/slices.js'
import type { MakerSlice } from '../evidence.js'

export interface MakerShares {
  number: number
  /** By kind of work; kinds that it did not do are left out. */
  work: Record<string, number>
  /** Waiting for a free slot, and having nothing to do. */
  wait: number
  idle: number
  /** CPU time. Null: the system does not say. */
  cpu: number | null
}

/** By the workers' numbers. One that has been at the same piece of work all the time is not among them: it tells when that is done. */
export function sharesOf(slices: readonly MakerSlice[]): MakerShares[] {
  const makers = new Map<number, MakerSlice[]>()
  for (const slice of slices) {
    const list = makers.get(slice.maker)
    if (list) list.push(slice)
    else makers.set(slice.maker, [slice])
  }
  return [...makers].sort(([a], [b]) => a - b).map(([number, list]) => shares(number, list))
}

function shares(number: number, slices: readonly MakerSlice[]): MakerShares {
  const sum = (of: (slice: MakerSlice) => number) => slices.reduce((all, slice) => all + of(slice), 0)
  const length = sum(({ from, to }) => to - from)
  const share = (ms: number) => Math.min(1, ratio(ms, length))
  const work: Record<string, number> = {}
  for (const kind of WORK_KINDS) {
    const ms = sum(slice => slice.work[kind])
    if (ms > 0) work[kind] = share(ms)
  }
  const known = slices.every(({ cpu }) => cpu !== null)
  return {
    number,
    work,
    wait: share(sum(({ wait }) => wait)),
    idle: share(sum(({ idle }) => idle)),
    cpu: known ? share(sum(({ cpu }) => cpu ?? 0)) : null,
  }
}
