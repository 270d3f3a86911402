/**
 * Byte pair encoding of one word. Symbols that stand beside each other are merged, the pair of the lowest rank first, of several
 * such the leftmost. Short words in arrays; longer ones with a queue (queue.ts), in linear time.
 */
import { addPlace, nextRank, takePlaces, usePool } from './queue'

/** No pair. */
export const NONE: u32 = 0xffffffff
const RANK_BITS: u64 = 26
const RANK_MASK: u64 = (1 << 26) - 1
const ID_BITS: u64 = 19
const EMPTY: u64 = 0xffffffffffffffff
/**
 * A code point stands in the table of pairs, too: its upper bits in the place of the left symbol, which is none of so great a number. All ones
 * would be an empty slot.
 */
const POINTS: u32 = 0x7fffe
const LOW: u32 = 0x7ffff

/** Symbols that a short word has at most. */
export const SHORT: i32 = 48

let bytes: usize = 0
let firstPairs: usize = 0
let pairs: usize = 0
let pairsMask: u32 = 0
let merged: usize = 0
let scratch: usize = 0

/**
 * `bytesAt`: the symbol of each byte (u32). `firstAt`: the rank of each pair of bytes (u32); 0: words are made of characters, and the
 * symbols of bytes are those of ASCII and of bytes of other characters that have no symbol. `pairsAt`: a hash table of left symbol,
 * right symbol and rank, 19, 19 and 26 bits (u64); it also has the symbols of characters. `mergedAt`: by rank, the symbol that it makes (u32).
 * `scratchAt`: memory to work in, 64 bytes for each byte of the longest word.
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

/** Puts the symbol of a character into the table. */
export function addPoint(point: u32, symbol: u32): void {
  addPair(POINTS - (point >> 19), point & LOW, symbol)
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
  if (firstPairs == 0) {
    const count = characters(from, length, to)
    if (count > SHORT) return mergeLong(0, count, to)
    for (let i = 0; i + 1 < count; i++)
      store<u32>(scratch + (<usize>i << 2), rankOf(load<u32>(to + (<usize>i << 2)), load<u32>(to + (<usize>i << 2), 4)))
    return mergeShort(count, to)
  }
  for (let i = 0; i < length; i++)
    store<u32>(to + (<usize>i << 2), load<u32>(bytes + ((<usize>load<u8>(from + i)) << 2)))
  if (length > SHORT) return mergeLong(from, length, to)
  for (let i = 0; i + 1 < length; i++) store<u32>(scratch + (<usize>i << 2), firstRank(from + i))
  return mergeShort(length, to)
}

/** The rank of the pair of bytes at `at`. */
@inline
function firstRank(at: usize): u32 {
  return load<u32>(firstPairs + (((<usize>load<u8>(at)) << 10) | ((<usize>load<u8>(at, 1)) << 2)))
}

/** Writes the symbols of the characters of a word; of a character that has none, those of its bytes. */
function characters(from: usize, length: i32, to: usize): i32 {
  const end = from + length
  let out = to
  let at = from
  while (at < end) {
    const first: u32 = load<u8>(at)
    let width: usize = 1
    let symbol = NONE
    if (first < 128) symbol = load<u32>(bytes + (<usize>first << 2))
    else {
      const second: u32 = load<u8>(at, 1) & 63
      const third: u32 = load<u8>(at, 2) & 63
      let point: u32 = ((first & 31) << 6) | second
      width = 2
      if (first >= 0xf0) {
        point = ((first & 7) << 18) | (second << 12) | (third << 6) | (load<u8>(at, 3) & 63)
        width = 4
      } else if (first >= 0xe0) {
        point = ((first & 15) << 12) | (second << 6) | third
        width = 3
      }
      symbol = rankOf(POINTS - (point >> 19), point & LOW)
    }
    if (symbol != NONE) {
      store<u32>(out, symbol)
      out += 4
    } else
      for (let i: usize = 0; i < width; i++) {
        store<u32>(out, load<u32>(bytes + ((<usize>load<u8>(at + i)) << 2)))
        out += 4
      }
    at += width
  }
  return <i32>((out - to) >> 2)
}

/** `to` has the symbols, `scratch` the rank of each with its right neighbour. */
function mergeShort(length: i32, to: usize): i32 {
  let count = length
  let lowest = NONE
  let at = 0
  for (let i = 0; i + 1 < count; i++) {
    const rank = load<u32>(scratch + (<usize>i << 2))
    if (rank < lowest) {
      lowest = rank
      at = i
    }
  }
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

/**
 * A place of a long word: 19 bits symbol, 19 bits its length in places, 26 bits its rank with the next symbol, all ones where it has none. A symbol
 * stands at its first place; its last one has the length, too, so that the symbol before another is found. Other places have no rank.
 */
const SYMBOL_MASK: u64 = (1 << 19) - 1
const LENGTH_SHIFT: u64 = 19
const RANK_SHIFT: u64 = 38
const UNRANKED: u64 = 0xffffffc000000000

@inline
function placeAt(i: u32): usize {
  return scratch + (<usize>i << 3)
}

@inline
function lengthOf(place: u64): u32 {
  return <u32>((place >> LENGTH_SHIFT) & SYMBOL_MASK)
}

/** The rank as it stands in a place. */
@inline
function ranked(rank: u32): u64 {
  return rank == NONE ? UNRANKED : (<u64>rank) << RANK_SHIFT
}

/**
 * `to` has the symbols. Takes the places of all pairs of the lowest rank, from left to right, and merges those that are still there. What
 * is merged makes other pairs. Where one of them has a lower rank still, it comes first, and the places that are left wait.
 */
function mergeLong(from: usize, length: i32, to: usize): i32 {
  const count: u32 = length
  usePool(placeAt(count), count)
  for (let i: u32 = 0; i < count; i++) {
    const symbol = load<u32>(to + (<usize>i << 2))
    let rank = NONE
    if (i + 1 < count) rank = from != 0 ? firstRank(from + i) : rankOf(symbol, load<u32>(to + (<usize>i << 2), 4))
    store<u64>(placeAt(i), <u64>symbol | ((<u64>1) << LENGTH_SHIFT) | ranked(rank))
    if (rank != NONE) addPlace(rank, i)
  }
  for (let rank = nextRank(); rank != NONE; rank = nextRank()) {
    const made = load<u32>(merged + (<usize>rank << 2))
    const places = takePlaces(rank)
    const end = places + (<usize>load<u32>(places) << 2)
    for (let place = places + 4; place <= end; place += 4) {
      const i = load<u32>(place)
      // One of the two may have been merged since.
      if (<u32>(load<u64>(placeAt(i)) >> RANK_SHIFT) != rank || mergeAt(i, made, count) >= rank) continue
      for (place += 4; place <= end; place += 4) addPlace(rank, load<u32>(place))
    }
  }
  let written: i32 = 0
  for (let i: u32 = 0; i < count; written++) {
    const place = load<u64>(placeAt(i))
    store<u32>(to + (<usize>written << 2), <u32>(place & SYMBOL_MASK))
    i += lengthOf(place)
  }
  return written
}

/** Merges a symbol and the one behind it; gives the lowest rank of the two pairs that are new. */
@inline
function mergeAt(i: u32, made: u32, count: u32): u32 {
  const right = i + lengthOf(load<u64>(placeAt(i)))
  const after = right + lengthOf(load<u64>(placeAt(right)))
  const size = (<u64>(after - i)) << LENGTH_SHIFT
  store<u64>(placeAt(right), UNRANKED)
  store<u64>(placeAt(after - 1), UNRANKED | size)
  let lowest = NONE
  if (i > 0) {
    const left = i - lengthOf(load<u64>(placeAt(i - 1)))
    const before = load<u64>(placeAt(left))
    lowest = rankOf(<u32>(before & SYMBOL_MASK), made)
    store<u64>(placeAt(left), (before & ~UNRANKED) | ranked(lowest))
    if (lowest != NONE) addPlace(lowest, left)
  }
  let rank = NONE
  if (after < count) {
    rank = rankOf(made, <u32>(load<u64>(placeAt(after)) & SYMBOL_MASK))
    if (rank != NONE) addPlace(rank, i)
  }
  store<u64>(placeAt(i), <u64>made | size | ranked(rank))
  return min(lowest, rank)
}
