/** How many samples Megatron builds of each source of a blend. */
import { normalized } from '../../../core/basics/numpy.js'

/** For `samples` in all: the weighed part, rounded up, and a surplus of it, rounded up. */
export function megatronSizes(weights: readonly number[], samples: number, surplus: number): number[] {
  return normalized(weights).map(weight => Math.ceil(Math.ceil(samples * weight) * (1 + surplus)))
}
