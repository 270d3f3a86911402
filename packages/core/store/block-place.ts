/**
 * Where a new block goes in the cache's memory, and which blocks must leave for it. Pure.
 *
 * A block is one contiguous run of pages, since decoders want contiguous bytes. So it is not enough to free as many
 * pages as are needed: they must lie together. Of all stretches that are large enough and hold no leased
 * block, the one is chosen whose soonest next use lies farthest in the future. With blocks of one size that is
 * Bélády's optimal rule; with mixed sizes it never throws away blocks whose pages are of no use to the new one.
 * Free pages count as "never used again", so an empty place always wins. Nothing is ever moved.
 */

/** The blocks in the order of their addresses. */
export interface PlacedBlocks {
  count: number
  /** First page and number of pages of each. */
  first: Int32Array
  pages: Int32Array
  /** Position of its next use; Infinity: never again; −Infinity: it must stay. */
  nextUse: Float64Array
}

export interface Place {
  /** First page of the place. */
  page: number
  /** Blocks `from` to `to` − 1 must leave. */
  from: number
  to: number
  /** The soonest next use among them: Infinity where none must leave. */
  soonest: number
}

/**
 * The best place for `wanted` of `total` pages, or undefined where leased blocks leave none. At least `leave`
 * blocks make way, however much room there is: for when the table of blocks is full.
 */
export function choosePlace(
  blocks: PlacedBlocks,
  wanted: number,
  total: number,
  leave = 0,
): Place | undefined {
  const { count, first, pages, nextUse } = blocks
  // A window of blocks [left, right) slides over the memory, always the shortest that makes enough room: the pages
  // from `start`, where the block before it ends, to `end`. The list of minima holds those blocks of the window
  // that have no sooner one behind them: its head is the soonest of all.
  const minima = new Int32Array(count)
  let head = 0
  let tail = 0
  let left = 0
  let start = 0
  let held = 0 // pages of the window's blocks
  let best: Place | undefined
  let bestSoonest = -Infinity
  let bestHeld = 0
  for (let right = 0; right <= count; right++) {
    const end = right < count ? first[right] : total
    if (right > 0) {
      const block = right - 1
      const next = nextUse[block]
      if (next === -Infinity) {
        left = right
        start = first[block] + pages[block]
        held = head = tail = 0
      } else {
        held += pages[block]
        while (tail > head && nextUse[minima[tail - 1]] >= next) tail--
        minima[tail++] = block
      }
    }
    while (right - left > leave && end - first[left] - pages[left] >= wanted) {
      if (minima[head] === left) head++
      held -= pages[left]
      start = first[left] + pages[left]
      left++
    }
    if (right - left < leave || end - start < wanted) continue
    const soonest = tail > head ? nextUse[minima[head]] : Infinity
    if (soonest > bestSoonest || (soonest === bestSoonest && held < bestHeld)) {
      best = { page: start, from: left, to: right, soonest }
      bestSoonest = soonest
      bestHeld = held
      if (held === 0) break // free pages: nothing can be better
    }
  }
  return best
}
