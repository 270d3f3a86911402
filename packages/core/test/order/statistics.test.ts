/**
 * The permutation looks like a random one. Every check comes down to standard deviations from what a uniformly
 * random permutation gives. About 1,500 of them are looked at, so that with a limit of 5 (two-sided p = 6e-7) a
 * perfect shuffle with other seeds would fail about once in a thousand runs; with the fixed seeds it never does.
 */
import { describe, expect, test } from 'vitest'
import { permutation } from '../../order/permutation.js'

const LIMIT = 5
const SEEDS = [1, 2, 12345]
const SIZES = [10, 100, 1000, 100_000, 1_000_000]

/** Deviations of a chi² statistic from its mean, by the cube root of Wilson and Hilferty. */
function chiSquareDeviations(statistic: number, freedom: number): number {
  const spread = 2 / (9 * freedom)
  return (Math.cbrt(statistic / freedom) - (1 - spread)) / Math.sqrt(spread)
}

/** chi² of counts that should be equal. */
function chiSquare(counts: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < counts.length; i++) total += counts[i]
  const expected = total / counts.length
  let sum = 0
  for (let i = 0; i < counts.length; i++) sum += (counts[i] - expected) ** 2 / expected
  return sum
}

function order(n: number, seed: number, epoch: number): Float64Array {
  const out = new Float64Array(n)
  permutation(n, { seed, epoch }).fill(out, 0)
  return out
}

/** Circular serial correlation. For a random permutation: mean −1/(n−1), variance 1/n for large n. */
function serialCorrelation(x: Float64Array, lag: number): number {
  const mean = (x.length - 1) / 2
  let sum = 0
  for (let i = 0, j = lag; i < x.length; i++) {
    sum += (x[i] - mean) * (x[j] - mean)
    if (++j === x.length) j = 0
  }
  return sum / ((x.length * (x.length * x.length - 1)) / 12)
}

describe.each(SIZES)('n = %d', n => {
  test('serial correlation at lags 1…64', () => {
    const epochs = n >= 100_000 ? 1 : Math.min(4000, 400_000 / n)
    for (const seed of n === 1_000_000 ? SEEDS.slice(0, 2) : SEEDS) {
      // The variance at small n has no simple form: there it is taken from the sample of epochs.
      const lags = Math.min(64, Math.floor((n - 1) / 2))
      const sums = new Float64Array(lags + 1)
      const squares = new Float64Array(lags + 1)
      for (let epoch = 0; epoch < epochs; epoch++) {
        const x = order(n, seed, epoch)
        for (let lag = 1; lag <= lags; lag++) {
          const r = serialCorrelation(x, lag)
          sums[lag] += r
          squares[lag] += r * r
        }
      }
      for (let lag = 1; lag <= lags; lag++) {
        const mean = sums[lag] / epochs
        const variance = epochs > 1 ? squares[lag] / epochs - mean * mean : 1 / n
        const deviations = (mean + 1 / (n - 1)) / Math.sqrt(variance / epochs)
        expect(Math.abs(deviations), `seed ${seed}, lag ${lag}`).toBeLessThan(LIMIT)
      }
    }
  })

  test('successive differences are uniform', () => {
    for (const seed of SEEDS) {
      // (at(p+1) − at(p)) mod n is uniform over 1…n−1. Small n: one pair an epoch, so that pairs are independent.
      const bins = new Float64Array(Math.min(n - 1, 500))
      const count = (difference: number) => {
        bins[Math.floor(((((difference % n) + n) % n) - 1) * (bins.length / (n - 1)))]++
      }
      if (n <= 1000)
        for (let epoch = 0; epoch < 20_000; epoch++) {
          const p = permutation(n, { seed, epoch })
          const at = epoch % (n - 1)
          count(p.at(at + 1) - p.at(at))
        }
      else {
        const x = order(n, seed, 0)
        for (let i = 1; i < n; i++) count(x[i] - x[i - 1])
      }
      // 999 differences in 500 bins: all bins hold two but one.
      const even = n === 1000 ? bins.subarray(0, 499) : bins
      expect(Math.abs(chiSquareDeviations(chiSquare(even), even.length - 1)), `seed ${seed}`).toBeLessThan(
        LIMIT,
      )
    }
  })

  test('fixed points are one an epoch, on average', () => {
    const epochs = n >= 100_000 ? 2 : Math.min(20_000, 2_000_000 / n)
    let found = 0
    for (const seed of SEEDS)
      for (let epoch = 0; epoch < epochs; epoch++) {
        const p = permutation(n, { seed, epoch: epoch + 1000 })
        for (let i = 0; i < n; i++) if (p.at(i) === i) found++
      }
    // Their number has mean 1 and variance 1 for every n ≥ 2.
    const expected = SEEDS.length * epochs
    expect(Math.abs(found - expected) / Math.sqrt(expected)).toBeLessThan(LIMIT)
  })

  test('every item comes at every position equally often over many epochs', () => {
    for (const seed of SEEDS.slice(0, 2)) {
      if (n <= 1000) {
        const epochs = Math.min(4000, 1_000_000 / n)
        const counts = new Float64Array(n * n)
        for (let epoch = 0; epoch < epochs; epoch++) {
          const x = order(n, seed, epoch)
          for (let i = 0; i < n; i++) counts[i * n + x[i]]++
        }
        // Rows and columns of a permutation matrix sum to one: (n−1)² degrees of freedom, scaled by n/(n−1).
        const statistic = (chiSquare(counts) * (n - 1)) / n
        expect(Math.abs(chiSquareDeviations(statistic, (n - 1) ** 2)), `seed ${seed}`).toBeLessThan(LIMIT)
      } else
        for (const item of [0, 1, n >> 1, n - 1, 77_777]) {
          const bins = new Float64Array(100)
          for (let epoch = 0; epoch < 10_000; epoch++)
            bins[Math.floor((permutation(n, { seed, epoch }).inverse(item) * 100) / n)]++
          expect(Math.abs(chiSquareDeviations(chiSquare(bins), 99)), `seed ${seed}, ${item}`).toBeLessThan(
            LIMIT,
          )
        }
    }
  })
})

test('the most common difference at n = 10^6 is as rare as chance', () => {
  // Differences come once on average (Poisson): P(some difference ≥ 13 times) < 1e-4. Four-round ciphers: 759.
  for (const seed of SEEDS) {
    const x = order(1_000_000, seed, 5)
    const counts = new Uint16Array(2_000_000)
    for (let i = 1; i < x.length; i++) counts[x[i] - x[i - 1] + 1_000_000]++
    expect(counts.reduce((a, b) => Math.max(a, b))).toBeLessThan(13)
  }
})

test('epochs are independent: the orders of two epochs do not correlate', () => {
  const n = 100_000
  const mean = (n - 1) / 2
  const epochs = [0, 1, 2, 3].map(epoch => order(n, 7, epoch))
  for (const [a, b] of [
    [0, 1],
    [1, 2],
    [2, 3],
    [0, 3],
  ]) {
    let sum = 0
    for (let i = 0; i < n; i++) sum += (epochs[a][i] - mean) * (epochs[b][i] - mean)
    const correlation = sum / ((n * (n * n - 1)) / 12)
    expect(Math.abs(correlation) * Math.sqrt(n)).toBeLessThan(LIMIT)
  }
})
