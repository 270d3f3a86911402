/** Gains in words, with what is possible at most: an interval of a model reaches beyond it, a run does not. */

import type { Now } from '../../dashboard/view.js'
import type { Remedy } from '../../evidence.js'
import { gain } from '../../verdict/units.js'
import { worstOf, worstRecord } from '../state/worst.js'

/** The most that better data could gain (0.7 = 70 %). Null: that is not known. */
export function ceilingOf(now: Now | null): number | null {
  const worst = worstOf(now)
  if (now === null || worst === null || worst.lost >= 1) return null
  const from = now.told === null ? now.worst?.accounting.idealFrom : worstRecord(now)?.idealFrom
  // Of an ideal step that may be shorter than it is known to be, there is no most.
  return from === undefined || from === 'upper' ? null : worst.lost / (1 - worst.lost)
}

/** `+38 % (±8)`; `+68 % (+42 to +69 at most)` where the interval ends at what is possible. */
export function gainWords(
  value: number,
  interval: readonly [number, number] | null,
  ceiling: number | null,
): string {
  // A larger batch, say, gains what no better data could.
  if (interval === null || ceiling === null || value > ceiling || interval[1] <= ceiling)
    return gain(value, interval)
  // What is not certainly a gain is said to be uncertain, first of all.
  if (interval[0] < 0) return gain(value, [interval[0], ceiling])
  const text = (share: number) => gain(share, null).replace(' %', '')
  return `${gain(value, null)} (${text(interval[0])} to ${text(ceiling)} at most)`
}

/** Null where it is not known before it is tried. */
export function gainOf({ predictedGain, interval }: Remedy, ceiling: number | null): string | null {
  return predictedGain === null ? null : gainWords(predictedGain, interval, ceiling)
}

/** What came, with its interval: `−8 % (±2)`. */
export function measuredWords(value: number, [least, most]: readonly [number, number]): string {
  const half = Math.round(100 * Math.max(value - least, most - value))
  return `${gain(value, null)} (±${Math.max(1, half)})`
}
