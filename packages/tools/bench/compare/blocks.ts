/**
 * Two runs side by side: what a step took in each, part by part, and which differences are more than noise. Both are divided into
 * blocks (rounds, seconds, or steps that follow each other); intervals are of 95 %, by the spread between blocks.
 */
import { PART_NAMES } from '../../../observe/account/parts.js'
import type { Parts, VerdictName } from '../../../observe/evidence.js'
import { differs, type Estimate, LEAST_VALUES, type Mean, studentT, welch } from '../statistics.js'

/** Steps that belong together: sums. */
export interface Block {
  steps: number
  samples: number
  /** ms of all the steps, and by part. */
  ms: number
  parts: Parts
}

export interface PartChange {
  part: keyof Parts | 'step'
  /** ms of a step. */
  a: number
  b: number
  /** b − a, with its interval; null: too few blocks. */
  change: number
  interval: [number, number] | null
  significant: boolean
}

export interface Comparison {
  /** Samples/s; where samples are not known, steps/s. */
  rate: { a: number; b: number; of: 'samples' | 'steps'; ratio: Estimate; significant: boolean }
  step: PartChange
  parts: PartChange[]
  blocks: { a: number; b: number }
}

/** What a file or folder holds. */
export type Kind = 'bench' | 'log'

/** What a run was set to, and its verdict. */
export interface SideFacts {
  workers: number
  depth: number
  verdict: VerdictName | null
}

/** One pair that was compared: a configuration of both, or the two runs. */
export interface Pair {
  name: string
  a: SideFacts
  b: SideFacts
  comparison: Comparison
}

export function compareBlocks(a: readonly Block[], b: readonly Block[]): Comparison {
  const parts = PART_NAMES.map(part => changeOf(part, a, b, block => block.parts[part]))
  const of = [...a, ...b].every(({ samples }) => samples > 0) ? 'samples' : 'steps'
  const count = (block: Block) => block[of]
  // ms for one sample: its inverse is the rate, and its logarithm has the same error.
  const [x, y] = [a, b].map(blocks => perUnit(blocks, block => block.ms, count))
  const ratio = ratioOf(x, y)
  return {
    rate: { a: 1000 / x.mean, b: 1000 / y.mean, of, ratio, significant: differs(ratio) },
    step: changeOf('step', a, b, block => block.ms),
    parts: parts.filter(({ a, b }) => a > 0 || b > 0),
    blocks: { a: a.length, b: b.length },
  }
}

/** The part that explains most of a change; undefined: none is significant, or steps did not get longer where the rate fell. */
export function mainCause({ rate, parts, step }: Comparison): PartChange | undefined {
  if (rate.ratio.value > 1 !== step.change < 0) return undefined
  const reported = parts.filter(
    ({ significant, change }) => significant && Math.sign(change) === Math.sign(step.change),
  )
  return reported.sort((a, b) => Math.abs(b.change) - Math.abs(a.change))[0]
}

/** Joins neighbours until there are at most so many blocks, of about as many each. */
export function fewer(blocks: readonly Block[], most: number): Block[] {
  if (blocks.length <= most) return [...blocks]
  return Array.from({ length: most }, (_, i) => {
    const from = Math.floor((i * blocks.length) / most)
    return joined(blocks.slice(from, Math.floor(((i + 1) * blocks.length) / most)))
  })
}

export function joined(blocks: readonly Block[]): Block {
  const sum = (get: (block: Block) => number) => blocks.reduce((total, block) => total + get(block), 0)
  const parts = {} as Parts
  for (const part of PART_NAMES) parts[part] = sum(block => block.parts[part])
  return {
    steps: sum(block => block.steps),
    samples: sum(block => block.samples),
    ms: sum(block => block.ms),
    parts,
  }
}

/** Shares of a step as ms of so many steps. */
export function partsInMs(shares: Parts, ms: number): Parts {
  const parts = {} as Parts
  for (const part of PART_NAMES) parts[part] = shares[part] * ms
  return parts
}

function changeOf(
  part: PartChange['part'],
  a: readonly Block[],
  b: readonly Block[],
  ms: (block: Block) => number,
): PartChange {
  const [x, y] = [a, b].map(blocks => perUnit(blocks, ms, block => block.steps))
  const change = y.mean - x.mean
  const half = studentT(welch(x, y)) * Math.hypot(x.error, y.error)
  const interval: PartChange['interval'] = areFew(x, y) ? null : [change - half, change + half]
  const significant = interval !== null && (interval[0] > 0 || interval[1] < 0)
  return { part, a: x.mean, b: y.mean, change, interval, significant }
}

/** The mean of a ratio of sums, and its standard error: blocks with more steps count for more. */
function perUnit(
  blocks: readonly Block[],
  ms: (block: Block) => number,
  units: (block: Block) => number,
): Mean {
  const all = blocks.reduce((sum, block) => sum + units(block), 0)
  const mean = blocks.reduce((sum, block) => sum + ms(block), 0) / all
  const squares = blocks.reduce((sum, block) => sum + (ms(block) - mean * units(block)) ** 2, 0)
  const count = blocks.length
  const error = count > 1 ? Math.sqrt((squares * count) / (count - 1)) / all : Number.NaN
  return { mean, error, count }
}

/** Rate of b / rate of a, from the ms that a unit takes in each. */
function ratioOf(a: Mean, b: Mean): Estimate {
  const value = a.mean / b.mean
  const half = studentT(welch(a, b)) * Math.hypot(a.error / a.mean, b.error / b.mean)
  return { value, interval: areFew(a, b) ? null : [value * Math.exp(-half), value * Math.exp(half)] }
}

function areFew(a: Mean, b: Mean): boolean {
  return Math.min(a.count, b.count) < LEAST_VALUES
}
