/** The causes that a step's lost time is divided among, largest first. */
import type { Accounting, Parts } from '../evidence.js'
import { LEAST_PART } from './thresholds.js'

/** Running and queued are one cause: CPU. Makers without a slot are none: they wait for the others. */
export type CauseName = 'slowed' | 'handOver' | 'transfer' | 'blocked' | 'cpu' | 'noSlot'

export interface Cause {
  name: CauseName
  share: number
  interval: [number, number] | null
}

const MEMBERS: Record<CauseName, (keyof Parts)[]> = {
  slowed: ['slowed'],
  handOver: ['handOver'],
  transfer: ['transfer'],
  blocked: ['blocked'],
  cpu: ['running', 'queued'],
  noSlot: ['noSlot'],
}

export function causes(a: Accounting): Cause[] {
  const all = (Object.keys(MEMBERS) as CauseName[]).map(name => {
    const share = MEMBERS[name].reduce((sum, part) => sum + a.parts[part], 0)
    return { name, share, interval: interval(a, MEMBERS[name], share) }
  })
  return all.sort((x, y) => y.share - x.share)
}

/** Half widths of independent parts add up as squares do. */
function interval(a: Accounting, parts: (keyof Parts)[], share: number): [number, number] | null {
  if (a.intervals === null) return null
  const half = Math.hypot(...parts.map(part => (a.intervals![part][1] - a.intervals![part][0]) / 2))
  return [share - half, share + half]
}

/** Two causes worth naming of which it is not certain which is the larger. Null: it is certain. */
export function tied(a: Accounting): [Cause, Cause] | null {
  const [first, second] = causes(a).filter(({ name, share }) => name !== 'noSlot' && share >= LEAST_PART)
  if (second === undefined || first.interval === null || second.interval === null) return null
  return first.interval[0] < second.interval[1] ? [first, second] : null
}

export function supplyOf({ running, queued, blocked, noSlot }: Parts): number {
  return running + queued + blocked + noSlot
}
