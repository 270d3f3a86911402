/** By how many tokens the rows of an epoch are moved, so that a stream is not cut at the same places every time. */
import { hashText, Random } from '../../../core/basics/random.js'

const PHASE_KEY = hashText('phase of tokens')

/** From 0 to `length` − 1. */
export function phaseOf(seed: number, epoch: number, length: number): number {
  return new Random().key(seed, epoch, 0, PHASE_KEY).int(length)
}
