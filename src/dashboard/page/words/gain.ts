/** Gains in words, with what is possible at most: an interval of a model reaches beyond it, a run does not. */
import type { Remedy } from '../../../observe/evidence.js'
import { gain } from '../../../observe/verdict/units.js'
import type { Now } from '../../view.js'

/** The most that better data could gain (0.7 = 70 %). Null: that is not known. */
export function ceilingOf(worst: Now['worst']): number | null {
  // Of an ideal step that may be shorter than it is known to be, there is no most.
  return worst === null || worst.accounting.idealFrom === 'upper' ? null : worst.diagnosis.ceiling
}

/** `+38 % (±8)`; `+68 % (+42 to +69, the most there is)` where the interval ends at what is possible. */
export function gainWords(
  value: number,
  interval: readonly [number, number] | null,
  ceiling: number | null,
): string {
  // A larger batch, say, gains what no better data could.
  if (interval === null || ceiling === null || value > ceiling || interval[1] <= ceiling)
    return gain(value, interval)
  const text = (share: number) => gain(share, null).replace(' %', '')
  return `${gain(value, null)} (${text(interval[0])} to ${text(ceiling)}, the most there is)`
}

/** Null where it is not known before it is tried. */
export function gainOf({ predictedGain, interval }: Remedy, ceiling: number | null): string | null {
  return predictedGain === null ? null : gainWords(predictedGain, interval, ceiling)
}
