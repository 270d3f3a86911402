/**
 * Where a new block goes in the cache's memory, and which blocks must leave for it. Pure.
 *
 * A block is one contiguous run of pages, since decoders want contiguous bytes. So it is not enough to free as many
 * pages as are needed: they must lie together. Of all stretches that are large enough and hold nobody's leased
 * block, the one is chosen whose soonest next use lies farthest in the future. With blocks of one size that is
 * Bélády's optimal rule; with mixed sizes it never throws away blocks whose pages are of no use to the new one.
 * Free pages count as "never used again", so an empty place always wins. Nothing is ever moved.
 */

/** The blocks in the order of their addresses. */
export interface PlacedBlocks {
  count: number
  /** First page and number of pages of each. */
  first: ArrayLike<number>
  pages: ArrayLike<number>
  /** Position of its next use; Infinity: never again; −Infinity: it must stay. */
  nextUse: ArrayLike<number>
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
  const endOf = (block: number) => (block < 0 ? 0 : first[block] + pages[block])
  // A window of blocks [left, right) slides over the memory, always the shortest that makes enough room. The ring
  // of minima holds those blocks of the window that have no sooner one behind them: its head is the soonest.
  const minima = new Int32Array(count)
  let [head, tail] = [0, 0]
  let left = 0
  let held = 0 // pages of the window's blocks
  let best: Place | undefined
  let bestHeld = 0
  for (let right = 0; right <= count; right++) {
    if (right > 0) {
      const block = right - 1
      if (nextUse[block] === -Infinity) {
        ;[left, held, head, tail] = [right, 0, 0, 0]
      } else {
        held += pages[block]
        while (tail > head && nextUse[minima[tail - 1]] >= nextUse[block]) tail--
        minima[tail++] = block
      }
    }
    const end = right < count ? first[right] : total
    while (right - left > leave && end - endOf(left) >= wanted) {
      if (minima[head] === left) head++
      held -= pages[left++]
    }
    if (right - left < leave || end - endOf(left - 1) < wanted) continue
    const soonest = tail > head ? nextUse[minima[head]] : Infinity
    if (best === undefined || soonest > best.soonest || (soonest === best.soonest && held < bestHeld)) {
      best = { page: endOf(left - 1), from: left, to: right, soonest }
      bestHeld = held
    }
  }
  return best
}
