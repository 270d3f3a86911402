/** Waiting for supply, divided by what the makers did meanwhile. */
import type { MakerSlice, StepTimes } from '../evidence.js'
import { amount } from './numbers.js'
import {
  addTime,
  allTime,
  MAKER_TIMES,
  type MakerTime,
  noTime,
  SlicesByTime,
  timeOf,
  whileWaiting,
} from './slices.js'

/** Where the makers are unknown, nothing else can be said than that none was seen at work. */
const UNSEEN: MakerTime = { running: 0, queued: 0, blocked: 0, noSlot: 1 }

/** Of each step: how its wait for supply is divided, as shares that add up to 1. */
export function supplyShares(steps: readonly StepTimes[], makers: readonly MakerSlice[]): MakerTime[] {
  const slices = new SlicesByTime(makers)
  const waits = steps.map(waitOf)
  const waited = new Map<MakerSlice, number>()
  for (const { from, to, density } of waits)
    slices.between(from, to, (slice, ms) => waited.set(slice, (waited.get(slice) ?? 0) + ms * density))

  const shares = new Map<MakerSlice, MakerTime>()
  for (const [slice, ms] of waited) {
    const share = whileWaiting(slice, ms)
    if (share) shares.set(slice, share)
  }
  const all = noTime()
  const found = waits.map(({ from, to, density }) => {
    const time = noTime()
    slices.between(from, to, (slice, ms) => {
      const share = shares.get(slice)
      if (share) addTime(time, share, ms * density)
    })
    addTime(all, time)
    return time
  })
  const rest = shareOf(all) ?? shareOf(wholeTime(makers)) ?? UNSEEN
  return found.map(time => shareOf(time) ?? rest)
}

/** When the trainer waited. Of joined steps it is only known how much of their time. */
function waitOf(step: StepTimes): { from: number; to: number; density: number } {
  const supply = amount(step.supply)
  if (step.count <= 1) return { from: step.asked, to: step.asked + supply, density: 1 }
  const length = supply + amount(step.handOver) + amount(step.transfer) + amount(step.compute)
  return { from: step.asked, to: step.asked + length, density: length > 0 ? supply / length : 0 }
}

/** All time of the makers. */
export function wholeTime(makers: readonly MakerSlice[]): MakerTime {
  const time = noTime()
  for (const slice of makers) addTime(time, timeOf(slice))
  return time
}

function shareOf(time: MakerTime): MakerTime | undefined {
  const all = allTime(time)
  if (!(all > 0 && Number.isFinite(all))) return undefined
  const share = noTime()
  for (const name of MAKER_TIMES) share[name] = time[name] / all
  return share
}
