/**
 * The deterministic choice among the sources of a blend: each unit goes to the source that lags most behind its share, of several to the
 * first. Unit k has the source with the greatest m_i · (k + 1) − M · c_i, where c_i counts what source i had before, and m_i is its share of M.
 *
 * Shares are whole numbers, so this is exact, and it repeats: what is drawn had a lag above 0, since all lags together are M, so no
 * lag falls to −M; after M units all lags are multiples of M with the sum 0, so they are 0. One cycle is therefore all there is to know.
 */
import { ROUND } from './apportion.js'
import type { Choice, ChoiceData, Cycle, Pick } from './choice.js'

export class DeficitChoice implements Choice {
  private readonly cycle: Cycle

  constructor(data: ChoiceData) {
    this.cycle = cycleOf(data)
  }

  at(unit: number, out: Pick): Pick {
    const { units, shares, labels, ranks } = this.cycle
    const round = Math.floor(unit / units)
    const i = unit - round * units
    out.one = labels[i]
    out.before = round * shares[labels[i]] + ranks[i]
    return out
  }

  counts(unit: number): Float64Array {
    const { units, shares, labels } = this.cycle
    const round = Math.floor(unit / units)
    const counts = Float64Array.from(shares, share => round * share)
    for (let i = 0; i < unit - round * units; i++) counts[labels[i]]++
    return counts
  }
}

export function cycleOf(data: ChoiceData): Cycle {
  data.cycle ??= makeCycle(data.shares)
  return data.cycle
}

function makeCycle(inRound: Uint32Array): Cycle {
  // What all shares can be divided by makes the cycle as much shorter.
  const divisor = inRound.reduce(greatestCommon, ROUND)
  const units = ROUND / divisor
  const shares = inRound.map(share => share / divisor)
  const labels = new Uint16Array(new SharedArrayBuffer(2 * units))
  const ranks = new Uint32Array(new SharedArrayBuffer(4 * units))
  const lags = new Int32Array(shares.length)
  const drawn = new Uint32Array(shares.length)
  for (let unit = 0; unit < units; unit++) {
    let source = 0
    let most = -Infinity
    for (let i = 0; i < shares.length; i++) {
      const lag = (lags[i] += shares[i])
      if (lag > most) [most, source] = [lag, i]
    }
    lags[source] -= units
    labels[unit] = source
    ranks[unit] = drawn[source]++
  }
  return { units, shares, labels, ranks }
}

function greatestCommon(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b]
  return a
}
