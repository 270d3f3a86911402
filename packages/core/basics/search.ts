/** Binary search, as every table of starts needs it. */

/** The last index from `low` on whose entry, in ascending order, is at most `value`; `low` when there is none. */
export function lastAtMost(sorted: Float64Array, value: number, low = 0, high = sorted.length - 1): number {
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (sorted[middle] <= value) low = middle
    else high = middle - 1
  }
  return low
}

/** The last of `count` things, in order, for which it is true; 0 where it is for none. */
export function lastWhere(count: number, isTrue: (i: number) => boolean): number {
  let low = 0
  let high = Math.max(0, count - 1)
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2)
    if (isTrue(middle)) low = middle
    else high = middle - 1
  }
  return low
}
