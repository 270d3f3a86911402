/** The contract of an operator that chooses steps. */
import type { OperatorName, OperatorParams } from '../../define/operators.js'
import type { Random } from '../../define/random.js'
import type { Step } from '../steps.js'

export interface Size {
  width: number
  height: number
}

/** Chooses the steps of one operator for a sample that has `size` when the operator meets it. */
export type Chooser<N extends OperatorName> = (
  params: OperatorParams<N>,
  size: Size,
  random: Random,
) => Step[]

/** An operator that does one thing with probability `p`, or nothing. */
export function withChance<P extends { p: number }>(step: (params: P) => Step) {
  return (params: P, _: Size, random: Random): Step[] => (random.next() < params.p ? [step(params)] : [])
}

/** Rounds halves to the even neighbour, as Python and torch do. */
export function roundEven(x: number): number {
  const floor = Math.floor(x)
  if (x - floor !== 0.5) return Math.round(x)
  return floor % 2 === 0 ? floor : floor + 1
}
