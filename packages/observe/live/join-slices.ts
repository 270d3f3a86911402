/** Slices of makers that are no longer looked at one by one: neighbours are joined, so that a long window takes little memory. */
import { APART } from '../account/maker-slices.js'
import { WORK_KINDS } from '../account/slices.js'
import type { MakerSlice } from '../evidence.js'

/** Joined slices are about so long (ms). */
const LENGTH = 2000
/** It is done when so many have come together: joining costs as much as looking at all. */
const AT_ONCE = 64

/** The same slices, of which those that ended before a moment are joined. */
export function joinSlices(slices: MakerSlice[], before: number): MakerSlice[] {
  const short = slices.reduce(
    (sum, { from, to }) => sum + (to <= before && to - from < LENGTH / 2 ? 1 : 0),
    0,
  )
  if (short < AT_ONCE) return slices
  const joined: MakerSlice[] = []
  const open = new Map<number, MakerSlice>()
  for (const slice of slices) {
    const last = open.get(slice.maker)
    const fits = last && slice.to <= before && slice.from - last.to < APART && slice.to - last.from <= LENGTH
    if (fits && (last.cpu === null) === (slice.cpu === null)) add(last, slice)
    else {
      const copy = { ...slice, work: { ...slice.work } }
      joined.push(copy)
      open.set(slice.maker, copy)
    }
  }
  return joined
}

function add(to: MakerSlice, more: MakerSlice): void {
  to.to = Math.max(to.to, more.to)
  for (const kind of WORK_KINDS) to.work[kind] += more.work[kind]
  for (const name of ['wait', 'idle', 'gc', 'bytes', 'rows', 'claims', 'reads', 'opens'] as const)
    to[name] += more[name]
  to.cpu = to.cpu === null || more.cpu === null ? null : to.cpu + more.cpu
  to.delay = to.delay === null || more.delay === null ? null : to.delay + more.delay
}
