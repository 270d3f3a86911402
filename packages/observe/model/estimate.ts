/** Means with their uncertainty, from figures that came in blocks of time. */

/** A mean, and its standard error. */
export interface Estimate {
  value: number
  sigma: number
}

/** Blocks that a window is divided into: enough for a standard error, long enough to be nearly independent. */
const BLOCKS = 20

/** Σ of the one / Σ of the other, with the standard error of that ratio over blocks of neighbours. */
export function ratio<T>(
  items: readonly T[],
  over: (item: T) => number,
  under: (item: T) => number,
): Estimate {
  const sums = blocks(items).map(block => ({ over: sum(block, over), under: sum(block, under) }))
  const total = sum(sums, block => block.under)
  if (!(total > 0)) return { value: 0, sigma: 0 }
  const value = sum(sums, block => block.over) / total
  const n = sums.length
  if (n < 2) return { value, sigma: value / 2 }
  const squares = sum(sums, block => (block.over - value * block.under) ** 2)
  return { value, sigma: Math.sqrt((squares * n) / (n - 1)) / total }
}

/** The items in blocks of neighbours of about the same number. */
function blocks<T>(items: readonly T[]): T[][] {
  const n = Math.min(BLOCKS, items.length)
  return Array.from({ length: n }, (_, i) =>
    items.slice(Math.floor((i * items.length) / n), Math.floor(((i + 1) * items.length) / n)),
  )
}

export function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((all, item) => all + of(item), 0)
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values, value => value) / values.length
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
