/** Which sequences of a file belong to a part, cut as Megatron cuts them: by number, one part behind the other. */
import { normalized } from '../../../core/basics/numpy.js'

/** The sequences from … to − 1 of part `take`. */
export function splitRange(
  split: readonly number[],
  take: number,
  sequences: number,
): { from: number; to: number } {
  const shares = normalized(split)
  let before = 0
  for (let i = 0; i < take; i++) before += shares[i]
  return { from: halfToEven(before * sequences), to: halfToEven((before + shares[take]) * sequences) }
}

/** Python's `round`. */
function halfToEven(number: number): number {
  const below = Math.floor(number)
  const rest = number - below
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1
  return below % 2 === 0 ? below : below + 1
}
