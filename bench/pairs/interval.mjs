// How two sides compare, from pairs of rounds. Pure arithmetic; packages/tools/test/bench/interval.test.ts holds it.

/** The least number of pairs from which an interval is given. With fewer, no interval of 95 % exists. */
export const LEAST = 6

/**
 * The ratio after/before over all pairs, with its 95 % interval. A pair's figure is the logarithm of its ratio. The estimate is
 * the median of the averages of every two pairs (Hodges and Lehmann); the interval is that of Wilcoxon's signed-rank test by
 * its normal approximation, rounded outwards. Unlike a mean with a t interval it is not carried off by the few rounds that a
 * neighbour on the machine disturbs. `noise` is the standard deviation of the logarithms: about 0.03 where single pairs
 * differ by 3 %.
 */
export function compare(ratios) {
  const logs = ratios.map(Math.log)
  const n = logs.length
  const mean = logs.reduce((sum, x) => sum + x, 0) / n
  const noise = Math.sqrt(logs.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1))
  const averages = []
  for (let i = 0; i < n; i++) for (let j = i; j < n; j++) averages.push((logs[i] + logs[j]) / 2)
  averages.sort((a, b) => a - b)
  const middle = (averages[(averages.length - 1) >> 1] + averages[averages.length >> 1]) / 2
  if (n < LEAST) return { pairs: n, ratio: Math.exp(middle), low: 0, high: Number.POSITIVE_INFINITY, noise }
  // The rank, from 1, of the average that is the lower end.
  const rank = Math.floor((n * (n + 1)) / 4 - 1.96 * Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24))
  const [low, high] = [averages[rank - 1], averages[averages.length - rank]].map(Math.exp)
  return { pairs: n, ratio: Math.exp(middle), low, high, noise }
}

/** Half the width of an interval: 0.015 is ±1.5 %. */
export const halfWidth = ({ low, high }) => (high - low) / 2

/** A wall clock that differs more than this from pair to pair is not what a verdict rests on. */
export const NOISY = 0.03

/**
 * The wall clock judges, unless it is noisier than 3 % and CPU time is less so. The choice looks at the spread alone,
 * never at the ratio.
 */
export function judged(wall, cpu) {
  return wall.noise > NOISY && cpu.noise < wall.noise ? 'cpu' : 'wall'
}
