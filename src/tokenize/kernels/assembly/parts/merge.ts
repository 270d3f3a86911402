/**
 * Byte pair encoding of one word. Symbols that stand beside each other are merged, the pair of the lowest rank first, of several
 * such the leftmost. Short words in arrays, longer ones with a heap.
 */

/** No pair. */
export const NONE: u32 = 0xffffffff
const RANK_BITS: u64 = 28
const RANK_MASK: u64 = (1 << 28) - 1
const ID_BITS: u64 = 18
const EMPTY: u64 = 0xffffffffffffffff

/** Symbols that a short word has at most. */
export const SHORT: i32 = 48

let bytes: usize = 0
let firstPairs: usize = 0
let pairs: usize = 0
let pairsMask: u32 = 0
let merged: usize = 0
let scratch: usize = 0

/**
 * `bytesAt`: the symbol of each byte (u32). `firstAt`: the rank of each pair of bytes (u32). `pairsAt`: a hash table of left symbol,
 * right symbol and rank, 18, 18 and 28 bits (u64). `mergedAt`: by rank, the symbol that it makes (u32). `scratchAt`: memory to
 * work in, 40 bytes for each byte of the longest word.
 */
export function useMerges(
  bytesAt: usize,
  firstAt: usize,
  pairsAt: usize,
  mask: u32,
  mergedAt: usize,
  scratchAt: usize,
): void {
  bytes = bytesAt
  firstPairs = firstAt
  pairs = pairsAt
  pairsMask = mask
  merged = mergedAt
  scratch = scratchAt
}

/** The first slot of a pair in the table. */
@inline
function slotOf(key: u64): u32 {
  return <u32>((key * 0x9e3779b97f4a7c15) >> 32)
}

/** Puts a pair into the table, which must have room; a pair that is there keeps its rank. */
export function addPair(left: u32, right: u32, rank: u32): void {
  const key = ((<u64>left) << ID_BITS) | right
  let slot = slotOf(key) & pairsMask
  while (true) {
    const found = load<u64>(pairs + (<usize>slot << 3))
    if (found == EMPTY) break
    if (found >> RANK_BITS == key) return
    slot = (slot + 1) & pairsMask
  }
  store<u64>(pairs + (<usize>slot << 3), (key << RANK_BITS) | rank)
}

/** The rank of a pair, or NONE. */
@inline
export function rankOf(left: u32, right: u32): u32 {
  const key = ((<u64>left) << ID_BITS) | right
  let slot = slotOf(key) & pairsMask
  while (true) {
    const found = load<u64>(pairs + (<usize>slot << 3))
    if (found >> RANK_BITS == key) return <u32>(found & RANK_MASK)
    if (found == EMPTY) return NONE
    slot = (slot + 1) & pairsMask
  }
}

/** Fills the table of pairs of bytes. */
export function fillFirstPairs(): void {
  for (let left: u32 = 0; left < 256; left++)
    for (let right: u32 = 0; right < 256; right++)
      store<u32>(
        firstPairs + (<usize>((left << 8) | right) << 2),
        rankOf(load<u32>(bytes + (<usize>left << 2)), load<u32>(bytes + (<usize>right << 2))),
      )
}

/** Writes the symbols of a word to `to`; gives their number. */
export function mergeWord(from: usize, length: i32, to: usize): i32 {
  return length <= SHORT ? mergeShort(from, length, to) : mergeLong(from, length, to)
}

/** `to` has the symbols, `scratch` the rank of each with its right neighbour. */
function mergeShort(from: usize, length: i32, to: usize): i32 {
  let count = length
  const last = count - 1
  let lowest = NONE
  let at = 0
  for (let i = 0; i < last; i++) {
    const rank = load<u32>(
      firstPairs + (((<usize>load<u8>(from + i)) << 10) | ((<usize>load<u8>(from + i, 1)) << 2)),
    )
    store<u32>(to + (<usize>i << 2), load<u32>(bytes + ((<usize>load<u8>(from + i)) << 2)))
    store<u32>(scratch + (<usize>i << 2), rank)
    if (rank < lowest) {
      lowest = rank
      at = i
    }
  }
  store<u32>(to + (<usize>last << 2), load<u32>(bytes + ((<usize>load<u8>(from + last)) << 2)))
  while (lowest != NONE) {
    count--
    const symbol = load<u32>(merged + (<usize>lowest << 2))
    // The symbol at + 1 is gone, and its rank.
    for (let i = at + 1; i < count; i++) {
      store<u32>(to + (<usize>i << 2), load<u32>(to + (<usize>i << 2), 4))
      store<u32>(scratch + (<usize>i << 2), load<u32>(scratch + (<usize>i << 2), 4))
    }
    store<u32>(to + (<usize>at << 2), symbol)
    store<u32>(
      scratch + (<usize>at << 2),
      at + 1 < count ? rankOf(symbol, load<u32>(to + (<usize>at << 2), 4)) : NONE,
    )
    if (at > 0)
      store<u32>(scratch + (<usize>(at - 1) << 2), rankOf(load<u32>(to + (<usize>(at - 1) << 2)), symbol))
    lowest = NONE
    for (let i = 0; i < count - 1; i++) {
      const rank = load<u32>(scratch + (<usize>i << 2))
      if (rank < lowest) {
        lowest = rank
        at = i
      }
    }
  }
  return count
}

/** A symbol of a long word: u32 symbol, left and right neighbour. The symbol NONE: it was merged into its left neighbour. */
const NODE: usize = 12

@inline
function nodeAt(i: u32): usize {
  return scratch + <usize>i * NODE
}

/** The heap lies behind the nodes: u64 entries of rank and place, the lowest first. */
let heap: usize = 0
let heaped: u32 = 0

function mergeLong(from: usize, length: i32, to: usize): i32 {
  const count: u32 = length
  heap = (nodeAt(count) + 7) & ~7
  heaped = 0
  for (let i: u32 = 0; i < count; i++) {
    const node = nodeAt(i)
    store<u32>(node, load<u32>(bytes + ((<usize>load<u8>(from + i)) << 2)))
    store<u32>(node, i - 1, 4)
    store<u32>(node, i + 1 < count ? i + 1 : NONE, 8)
  }
  for (let i: u32 = 0; i + 1 < count; i++) {
    const rank = rankOf(load<u32>(nodeAt(i)), load<u32>(nodeAt(i + 1)))
    if (rank != NONE) append(((<u64>rank) << 32) | i)
  }
  for (let i: i32 = <i32>(heaped >> 1) - 1; i >= 0; i--) sink(i)
  while (heaped > 0) {
    const least = pop()
    const i = <u32>least
    const node = nodeAt(i)
    const symbol = load<u32>(node)
    const right = load<u32>(node, 8)
    if (symbol == NONE || right == NONE) continue
    // One of the two may have changed since.
    const rank = <u32>(least >> 32)
    if (rankOf(symbol, load<u32>(nodeAt(right))) != rank) continue
    const made = load<u32>(merged + (<usize>rank << 2))
    const after = load<u32>(nodeAt(right), 8)
    store<u32>(node, made)
    store<u32>(node, after, 8)
    store<u32>(nodeAt(right), NONE)
    if (after != NONE) {
      store<u32>(nodeAt(after), i, 4)
      const next = rankOf(made, load<u32>(nodeAt(after)))
      if (next != NONE) push(((<u64>next) << 32) | i)
    }
    const left = load<u32>(node, 4)
    if (left != NONE) {
      const next = rankOf(load<u32>(nodeAt(left)), made)
      if (next != NONE) push(((<u64>next) << 32) | left)
    }
  }
  let written: i32 = 0
  for (let i: u32 = 0; i != NONE; i = load<u32>(nodeAt(i), 8)) {
    store<u32>(to + (<usize>written << 2), load<u32>(nodeAt(i)))
    written++
  }
  return written
}

@inline
function entry(i: u32): usize {
  return heap + (<usize>i << 3)
}

@inline
function append(value: u64): void {
  store<u64>(entry(heaped++), value)
}

function push(value: u64): void {
  let i = heaped++
  while (i > 0) {
    const parent = (i - 1) >> 1
    const above = load<u64>(entry(parent))
    if (above <= value) break
    store<u64>(entry(i), above)
    i = parent
  }
  store<u64>(entry(i), value)
}

function pop(): u64 {
  const least = load<u64>(heap)
  heaped--
  if (heaped > 0) {
    store<u64>(heap, load<u64>(entry(heaped)))
    sink(0)
  }
  return least
}

function sink(from: u32): void {
  let i = from
  const value = load<u64>(entry(i))
  while (true) {
    let child: u32 = 2 * i + 1
    if (child >= heaped) break
    let below = load<u64>(entry(child))
    if (child + 1 < heaped) {
      const other = load<u64>(entry(child + 1))
      if (other < below) {
        below = other
        child++
      }
    }
    if (below >= value) break
    store<u64>(entry(i), below)
    i = child
  }
  store<u64>(entry(i), value)
}
