/**
 * How sure the parts are: 95 % intervals by the spread between blocks of steps that follow each other. Within a block steps
 * depend on each other (a full ring, a slow file); blocks do so much less.
 */
import type { Parts, StepTimes } from '../evidence.js'
import { countOf, PART_NAMES, partsOf, sumSteps, waitsOf } from './parts.js'
import type { MakerTime } from './slices.js'

/** Blocks at most, and at least; steps of a block at least. */
const MOST_BLOCKS = 20
const LEAST_BLOCKS = 5
const LEAST_STEPS = 4

/** Student's t at 97.5 %, for 4 … 19 degrees of freedom. */
const T = [
  ...[2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201],
  ...[2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093],
]

/** `idealMs` undefined: each block has an ideal of its own, since the whole has it from its steps. */
export function intervalsOf(
  steps: readonly StepTimes[],
  supply: readonly MakerTime[],
  parts: Parts,
  idealMs: number | undefined,
): Record<keyof Parts, [number, number]> | null {
  const blocks = Math.min(MOST_BLOCKS, Math.floor(steps.length / LEAST_STEPS))
  const counted = steps.reduce((sum, step) => sum + countOf(step), 0)
  if (blocks < LEAST_BLOCKS || counted === 0) return null

  const found = Array.from({ length: blocks }, (_, b) => {
    const from = Math.floor((b * steps.length) / blocks)
    const to = Math.floor(((b + 1) * steps.length) / blocks)
    const sums = sumSteps(steps.slice(from, to), supply.slice(from, to))
    const whole = waitsOf(sums) + sums.compute
    return { whole, parts: partsOf(sums, idealMs ?? sums.compute / sums.count) }
  })
  const total = found.reduce((sum, { whole }) => sum + whole, 0)
  const intervals = {} as Record<keyof Parts, [number, number]>
  for (const name of PART_NAMES) {
    const part = parts[name]
    // The variance of a ratio of sums: blocks that took longer count for more.
    const squares = found.reduce((sum, block) => sum + ((block.parts[name] - part) * block.whole) ** 2, 0)
    const spread = total > 0 ? Math.sqrt((squares * blocks) / (blocks - 1)) / total : 0
    const half = T[blocks - LEAST_BLOCKS] * spread
    intervals[name] = [Math.max(0, part - half), Math.min(1, part + half)]
  }
  return intervals
}
