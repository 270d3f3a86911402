/** The contract of an operator that chooses steps. */

import type { Random } from '../../../core/basics/random.js'
import type { OperatorName, OperatorParams } from '../../../core/define/operators/table.js'
import type { Rows } from '../../decode/array/rows.js'
import type { CropStep, Filter, GeometryStep, Size, Step } from '../steps.js'

export type { Size } from '../steps.js'

/** What else an operator may look at. */
export interface Scene {
  /** The boxes of a field as the steps so far have moved them. */
  boxes(field: string): Rows
  /** The crop that was chosen for this sample before, null if none was: then there are no boxes to look at. */
  recalled?: CropStep | null | undefined
}

/** Chooses the steps of one operator for a sample that has `size` when the operator meets it. */
export type Chooser<N extends OperatorName> = (
  params: OperatorParams<N>,
  size: Size,
  random: Random,
  scene: Scene,
) => Step[]

/** A resize is no step when nothing changes. */
export function resizeTo(to: Size, from: Size, how: { filter: Filter; antialias: boolean }): GeometryStep[] {
  if (to.width === from.width && to.height === from.height) return []
  return [{ do: 'resize', ...to, filter: how.filter, antialias: how.antialias }]
}

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
