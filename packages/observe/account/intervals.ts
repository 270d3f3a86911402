/**
 * How sure the parts are: 95 % intervals by the spread between blocks of steps that follow each other. Within a block steps
 * depend on each other (a full ring, a slow file); blocks do so much less.
 */
import type { Parts, StepTimes } from '../evidence.js'
import { amount, ratio } from './numbers.js'
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

/**
 * `idealMs` undefined: each block has an ideal of its own, since the whole has it from its steps. `idealSigma`: its standard
 * error as a share of a step, where it was measured on few steps.
 */
export function intervalsOf(
  steps: readonly StepTimes[],
  supply: readonly MakerTime[],
  parts: Parts,
  idealMs: number | undefined,
  idealSigma = 0,
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
    const ofIdeal = name === 'ideal' || name === 'slowed' ? idealSigma : 0
    const half = T[blocks - LEAST_BLOCKS] * Math.hypot(spread, ofIdeal)
    intervals[name] = [Math.max(0, part - half), Math.min(1, part + half)]
  }
  return intervals
}

/**
 * The standard error of a mean over so few steps in a row (ms): how much means of as many of these steps differ from each
 * other. Neighbours drift together, so the spread of single steps would say too little.
 */
export function errorOfRun(steps: readonly StepTimes[], length: number): number {
  const counted = steps.reduce((sum, step) => sum + countOf(step), 0)
  // Where they are few, shorter runs tell it: means of n differ by √n less than single ones.
  const size = Math.max(1, Math.min(length, Math.floor(counted / LEAST_BLOCKS)))
  const runs: { ms: number; count: number }[] = []
  let open = { ms: 0, count: 0 }
  for (const step of steps) {
    open = { ms: open.ms + amount(step.compute), count: open.count + countOf(step) }
    if (open.count < size) continue
    runs.push(open)
    open = { ms: 0, count: 0 }
  }
  const all = runs.reduce((sum, { count }) => sum + count, 0)
  const mean = ratio(
    runs.reduce((sum, { ms }) => sum + ms, 0),
    all,
  )
  // Nothing to compare with: such a mean may be off by a third.
  if (runs.length < LEAST_BLOCKS) return mean / 6
  const squares = runs.reduce((sum, { ms, count }) => sum + count * (ms / count - mean) ** 2, 0)
  return Math.sqrt(squares / (runs.length - 1) / Math.max(1, length))
}
