/** Means, medians, and how sure a ratio is: rounds are few, so intervals are Student's, on logarithms. */

/** Student's t at 97.5 %, by degrees of freedom from 1 on; further on it is nearly the last. */
const T = [
  ...[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228],
  ...[2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086],
  ...[2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042],
]

/**
 * Fewer values say nothing of the noise. Student's interval of two reaches from nearly nothing to hundreds of times as much, and hides
 * every change.
 */
export const LEAST_VALUES = 3

export interface Spread {
  median: number
  min: number
  max: number
}

/** Samples/s of some rounds. `mean` is the geometric one, which all changes are made from. */
export interface Rates extends Spread {
  mean: number
}

/** An estimate with its 95 % interval; the interval is null where there are fewer than LEAST_VALUES to say it. */
export interface Estimate {
  value: number
  interval: [number, number] | null
}

export function studentT(freedom: number): number {
  return T[Math.min(T.length, Math.max(1, Math.floor(freedom))) - 1]
}

export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

export function ratesOf(values: readonly number[]): Rates {
  return { mean: geometricMean(values), ...spread(values) }
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(meanOf(values.filter(value => value > 0).map(Math.log)).mean)
}

/** How many times `of` is `to`, by pairs that were measured in the same round: what drifts falls on both. */
export function pairedRatio(of: ReadonlyMap<number, number>, to: ReadonlyMap<number, number>): Estimate {
  const logs = [...of].flatMap(([round, value]) => {
    const other = to.get(round)
    return other !== undefined && other > 0 && value > 0 ? [Math.log(value / other)] : []
  })
  const { mean, error } = meanOf(logs)
  return ratioOf(mean, error, logs.length - 1, logs.length)
}

/** How many times `of` is `to`, measured at different times. */
export function ratio(of: readonly number[], to: readonly number[]): Estimate {
  const [a, b] = [of, to].map(values => meanOf(values.filter(value => value > 0).map(Math.log)))
  return ratioOf(a.mean - b.mean, Math.hypot(a.error, b.error), welch(a, b), Math.min(a.count, b.count))
}

/** Mean, standard error, and number of values. */
export interface Mean {
  mean: number
  error: number
  count: number
}

function meanOf(values: readonly number[]): Mean {
  const count = values.length
  const mean = values.reduce((sum, value) => sum + value, 0) / count
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return { mean, error: count > 1 ? Math.sqrt(squares / (count - 1) / count) : Number.NaN, count }
}

/** Degrees of freedom of a difference of two means whose spreads differ (Welch and Satterthwaite). */
export function welch(a: Mean, b: Mean): number {
  const [va, vb] = [a.error ** 2, b.error ** 2]
  const below = va ** 2 / (a.count - 1) + vb ** 2 / (b.count - 1)
  return below > 0 ? (va + vb) ** 2 / below : a.count + b.count - 2
}

function ratioOf(log: number, error: number, freedom: number, count: number): Estimate {
  if (count < LEAST_VALUES) return { value: Math.exp(log), interval: null }
  const half = studentT(freedom) * error
  return { value: Math.exp(log), interval: [Math.exp(log - half), Math.exp(log + half)] }
}

/** Whether an interval of a ratio says that the two differ. */
export function differs({ interval }: Estimate): boolean {
  return interval !== null && (interval[0] > 1 || interval[1] < 1)
}
