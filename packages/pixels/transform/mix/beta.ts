/** Beta(α, α), the distribution of a mixing share, from a keyed random source. */
import type { Random } from '../../../core/basics/random.js'

export function beta(alpha: number, random: Random): number {
  return alpha <= 1 ? johnk(alpha, random) : fromGammas(alpha, random)
}

/**
 * Jöhnk (1964): two uniform numbers to the power 1/α, until their sum is at most 1. In logarithms, so that tiny α
 * don't underflow.
 */
function johnk(alpha: number, random: Random): number {
  for (;;) {
    const x = Math.log(1 - random.next()) / alpha
    const y = Math.log(1 - random.next()) / alpha
    // log(e^x + e^y), safely
    const sum = Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))
    if (sum <= 0) return Math.exp(x - sum)
  }
}

function fromGammas(alpha: number, random: Random): number {
  const x = gamma(alpha, random)
  return x / (x + gamma(alpha, random))
}

/** Marsaglia and Tsang (2000), for α ≥ 1: the cube of a shifted normal number, accepted nearly always. */
function gamma(alpha: number, random: Random): number {
  const d = alpha - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = random.normal()
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(1 - random.next()) < x * x * 0.5 + d - d * v + d * Math.log(v)) return d * v
  }
}
