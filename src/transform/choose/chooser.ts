/** The contract of an operator that chooses steps. */
import type { Random } from '../../define/random.js'
import type { NormalOp } from '../../define/types.js'
import type { Step } from '../steps.js'

export interface Size {
  width: number
  height: number
}

/** Chooses the steps of one operator for a sample that has `size` when the operator meets it. */
export type Chooser = (params: NormalOp['params'], size: Size, random: Random) => Step[]
