/** Small sums that accounting is made of. */

/** More ms than any run takes: sums of so many stay finite. */
const MOST = 1e15
/** Less than a clock can tell counts as nothing: one may divide by the rest. */
const LEAST = 1e-9

/** A quantity as it should be: not negative, not absent, finite. */
export function amount(value: number | null | undefined): number {
  return value !== null && value !== undefined && value > LEAST ? Math.min(value, MOST) : 0
}

/** How much two intervals have in common. */
export function overlap(from: number, to: number, otherFrom: number, otherTo: number): number {
  return Math.max(0, Math.min(to, otherTo) - Math.max(from, otherFrom))
}

/** A share, 0 where there is nothing to have a share of. */
export function ratio(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0
}

/** A value, and how many there are of it. */
export type Weighted = readonly [value: number, count: number]

/** The least value that a share `p` of all does not exceed; 0 where there are none. `sorted` is in order of the values. */
export function percentile(sorted: readonly Weighted[], p: number): number {
  const all = sorted.reduce((sum, [, count]) => sum + count, 0)
  let seen = 0
  for (const [value, count] of sorted) {
    seen += count
    // Half of one, so that a sum that is off by rounding still counts.
    if (seen >= p * all - 1e-9 * all) return value
  }
  return sorted.at(-1)?.[0] ?? 0
}
