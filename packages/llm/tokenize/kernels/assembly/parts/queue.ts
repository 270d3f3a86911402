/**
 * The places of a long word where two symbols can be merged, by the rank of their pair. Each rank has a list; a bit for each list that
 * has places finds the lowest.
 */

const NONE: u32 = 0xffffffff
const LINK_BITS: u32 = 30
const LINK_MASK: u32 = 0x3fffffff

/** By rank the first entry of its list (u32), NONE where it is empty. Behind them bits of lists, and bits of words of bits: three levels of u64. */
let heads: usize = 0
let bits0: usize = 0
let bits1: usize = 0
let bits2: usize = 0
let words2: u32 = 0

/**
 * Entries: u32 the next entry, with the number of places in its upper two bits; then up to three places (u32). Several a list, so that fewer lines of
 * memory are touched. Those that are free are a list, too.
 */
let entries: usize = 0
let used: u32 = 0
let free: u32 = 0xffffffff
/** Where places are sorted: two arrays. */
let sorted: usize = 0
let beside: usize = 0

/** Bytes that `ranks` lists take. */
export function queueBytes(ranks: u32): usize {
  return (((<usize>ranks + 1) << 2) & ~7) + 8 * (words(ranks) + words(words(ranks)) + words(words(words(ranks))))
}

@inline
function words(count: u32): u32 {
  return (count + 63) >> 6
}

/** Where the lists lie; clears them. Every word leaves them empty. */
export function useQueue(at: usize, ranks: u32): void {
  heads = at
  bits0 = at + (((<usize>ranks + 1) << 2) & ~7)
  bits1 = bits0 + ((<usize>words(ranks)) << 3)
  bits2 = bits1 + ((<usize>words(words(ranks))) << 3)
  words2 = words(words(words(ranks)))
  memory.fill(heads, 0xff, bits0 - heads)
  memory.fill(bits0, 0, bits2 + (<usize>words2 << 3) - bits0)
}

/** Begins a word of so many symbols. Three entries a symbol are enough: one a pair at first, two a merge. */
export function usePool(at: usize, symbols: u32): void {
  entries = at
  used = 0
  free = NONE
  sorted = at + <usize>symbols * 48
  beside = sorted + (<usize>symbols + 1) * 4
}

@inline
function setBit(bits: usize, i: u32): void {
  const word = bits + ((<usize>(i >> 6)) << 3)
  store<u64>(word, load<u64>(word) | ((<u64>1) << (i & 63)))
}

/** Clears a bit; whether its word has none now. */
@inline
function clearBit(bits: usize, i: u32): bool {
  const word = bits + ((<usize>(i >> 6)) << 3)
  const left = load<u64>(word) & ~((<u64>1) << (i & 63))
  store<u64>(word, left)
  return left == 0
}

@inline
function entryAt(entry: u32): usize {
  return entries + (<usize>entry << 4)
}

export function addPlace(rank: u32, place: u32): void {
  const head = heads + (<usize>rank << 2)
  const first = load<u32>(head)
  if (first != NONE) {
    const at = entryAt(first)
    const link = load<u32>(at)
    const count = link >> LINK_BITS
    if (count < 3) {
      store<u32>(at, link + (1 << LINK_BITS))
      store<u32>(at + (<usize>(count + 1) << 2), place)
      return
    }
  }
  let entry = free
  if (entry != NONE) {
    const link = load<u32>(entryAt(entry)) & LINK_MASK
    free = link == LINK_MASK ? NONE : link
  } else entry = used++
  store<u32>(entryAt(entry), (1 << LINK_BITS) | (first & LINK_MASK))
  store<u32>(entryAt(entry), place, 4)
  store<u32>(head, entry)
  if (first != NONE) return
  setBit(bits0, rank)
  setBit(bits1, rank >> 6)
  setBit(bits2, rank >> 12)
}

/** The lowest rank that has places, or NONE. */
export function nextRank(): u32 {
  for (let i: u32 = 0; i < words2; i++) {
    const top = load<u64>(bits2 + (<usize>i << 3))
    if (top == 0) continue
    const middle = (i << 6) | <u32>ctz(top)
    const low = (middle << 6) | <u32>ctz(load<u64>(bits1 + (<usize>middle << 3)))
    return (low << 6) | <u32>ctz(load<u64>(bits0 + (<usize>low << 3)))
  }
  return NONE
}

/** Takes all places of a rank: where their number lies, and behind it they themselves, from left to right. */
export function takePlaces(rank: u32): usize {
  const head = heads + (<usize>rank << 2)
  const first = load<u32>(head)
  store<u32>(head, NONE)
  if (clearBit(bits0, rank) && clearBit(bits1, rank >> 6)) clearBit(bits2, rank >> 12)
  let count: u32 = 0
  let last = first
  for (let entry = first; entry != NONE; ) {
    const at = entryAt(entry)
    const link = load<u32>(at)
    // The last that came is the first, here and in the list.
    for (let i = link >> LINK_BITS; i > 0; i--)
      store<u32>(sorted + (<usize>++count << 2), load<u32>(at + (<usize>i << 2)))
    last = entry
    const next = link & LINK_MASK
    entry = next == LINK_MASK ? NONE : next
  }
  store<u32>(entryAt(last), free & LINK_MASK)
  free = first
  reverse(sorted + 4, count)
  sort(count)
  store<u32>(sorted, count)
  return sorted
}

/** The last that came is the first of a list. */
function reverse(at: usize, count: u32): void {
  if (count == 0) return
  let from = at
  let to = at + (<usize>(count - 1) << 2)
  while (from < to) {
    const one = load<u32>(from)
    store<u32>(from, load<u32>(to))
    store<u32>(to, one)
    from += 4
    to -= 4
  }
}

/** Merges runs that ascend, of which there are few, until there is one. */
function sort(count: u32): void {
  while (true) {
    let from = sorted + 4
    let to = beside + 4
    const end = from + (<usize>count << 2)
    let runs: u32 = 0
    while (from < end) {
      const middle = runEnd(from, end)
      if (middle == end && runs == 0) return
      const last = runEnd(middle, end)
      let right = middle
      while (from < middle || right < last) {
        const takeLeft = right == last || (from < middle && load<u32>(from) <= load<u32>(right))
        if (takeLeft) {
          store<u32>(to, load<u32>(from))
          from += 4
        } else {
          store<u32>(to, load<u32>(right))
          right += 4
        }
        to += 4
      }
      from = last
      runs++
    }
    const other = sorted
    sorted = beside
    beside = other
  }
}

@inline
function runEnd(at: usize, end: usize): usize {
  if (at == end) return end
  let to = at + 4
  while (to < end && load<u32>(to) >= load<u32>(to - 4)) to += 4
  return to
}
