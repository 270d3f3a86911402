/**
 * Tokens of a text: goes from word to word, and looks each up among those that were met before; the others are merged.
 *
 * Words of up to 16 bytes, and those of up to 32, have a table each. A slot has the word itself, so that a hit touches one line
 * of the processor's cache; a new word takes the place of an older one.
 */
import { useClasses } from './parts/classes'
import { addPair, addPoint, fillFirstPairs, mergeWord, useMerges } from './parts/merge'
import { queueBytes, useQueue } from './parts/queue'
import { cl100k, gpt2, o200k, spaced } from './parts/scan'

export { addPair, addPoint, fillFirstPairs, queueBytes, useClasses, useMerges, useQueue }

/** The patterns, by number. */
const GPT2: i32 = 0
const CL100K: i32 = 1
const QWEN2: i32 = 2
const O200K: i32 = 3
const TEKKEN: i32 = 4
const SPACES: i32 = 5
const SPACE: i32 = 6

/** A slot for words of up to 16 bytes: the word, u8 its length, u8 number of tokens, u32 tokens. */
const SMALL: usize = 32
const SMALL_TOKENS: i32 = 3
/** The same for up to 32 bytes. */
const LARGE: usize = 64
const LARGE_TOKENS: i32 = 7

let small: usize = 0
let smallMask: u32 = 0
let large: usize = 0
let largeMask: u32 = 0

/** Where the tables of words are, which must be zeros at first, and how many slots they have, less one. */
export function useWords(smallAt: usize, ofSmall: u32, largeAt: usize, ofLarge: u32): void {
  small = smallAt
  smallMask = ofSmall
  large = largeAt
  largeMask = ofLarge
}

/** A hash table of whole words that are tokens, where those are not merged: u32 slots of id + 1. Absent: 0. */
let whole: usize = 0
let wholeMask: u32 = 0
/** By id: where its bytes begin (u32), and those bytes. */
let starts: usize = 0
let spelled: usize = 0

export function useWhole(wholeAt: usize, mask: u32, startsAt: usize, bytesAt: usize): void {
  whole = wholeAt
  wholeMask = mask
  starts = startsAt
  spelled = bytesAt
}

/** Puts a token into the table of whole words. */
export function addWhole(id: u32): void {
  const from = spelled + load<u32>(starts + (<usize>id << 2))
  const length = <i32>(load<u32>(starts + (<usize>id << 2), 4) - load<u32>(starts + (<usize>id << 2)))
  let slot = hashOf(from, length) & wholeMask
  while (load<u32>(whole + (<usize>slot << 2)) != 0) slot = (slot + 1) & wholeMask
  store<u32>(whole + (<usize>slot << 2), id + 1)
}

function hashOf(from: usize, length: i32): u32 {
  let hash: u64 = length
  let i = 0
  for (; i + 8 <= length; i += 8) hash = mixed(hash ^ load<u64>(from + i))
  let rest: u64 = 0
  for (; i < length; i++) rest = (rest << 8) | load<u8>(from + i)
  return <u32>(mixed(hash ^ rest) >> 32)
}

/** The id of a whole word, or −1. */
function findWhole(from: usize, length: i32): i32 {
  let slot = hashOf(from, length) & wholeMask
  while (true) {
    const found = load<u32>(whole + (<usize>slot << 2))
    if (found == 0) return -1
    const id = found - 1
    const start = load<u32>(starts + (<usize>id << 2))
    if (load<u32>(starts + (<usize>id << 2), 4) - start == <u32>length && same(spelled + start, from, length))
      return id
    slot = (slot + 1) & wholeMask
  }
}

function same(a: usize, b: usize, length: i32): bool {
  for (let i = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false
  return true
}

@inline
function mixed(value: u64): u64 {
  const product = value * 0x9e3779b97f4a7c15
  return product ^ (product >> 29)
}

/** How far `encode` came, in bytes. */
let done: usize = 0

export function consumed(): usize {
  return done
}

/** A word that ends so near to the end of a text may go on behind it: in bytes. */
const AHEAD: usize = 8

/**
 * Writes the tokens of `length` bytes of valid UTF-8 to `to`; gives their number. Where the text is not `whole`, it stops before
 * a word that may go on behind its end; `consumed` tells where. 32 bytes behind the text can be read.
 */
export function encode(pattern: i32, from: usize, length: usize, to: usize, whole: bool): usize {
  const end = from + length
  const sure = whole ? end : end - min(AHEAD, length)
  let out = to
  let at = from
  while (at < end) {
    const next = endOfWord(pattern, at, end)
    if (next > sure) break
    out = word(at, <i32>(next - at), out)
    at = next
  }
  done = at - from
  return (out - to) >> 2
}

@inline
function endOfWord(pattern: i32, at: usize, end: usize): usize {
  if (pattern == GPT2) return gpt2(at, end)
  if (pattern == CL100K) return cl100k(at, end, 3)
  if (pattern == O200K) return o200k(at, end, true)
  if (pattern == QWEN2) return cl100k(at, end, 1)
  if (pattern == TEKKEN) return o200k(at, end, false)
  // Otherwise the text is one word.
  return pattern == SPACES || pattern == SPACE ? spaced(at, end, pattern == SPACE) : end
}

/** Writes where each word of a text ends (u32, from its beginning); gives their number. */
export function borders(pattern: i32, from: usize, length: usize, to: usize): usize {
  const end = from + length
  let out = to
  let at = from
  while (at < end) {
    at = endOfWord(pattern, at, end)
    store<u32>(out, <u32>(at - from))
    out += 4
  }
  return (out - to) >> 2
}

/** Writes the tokens of a word; gives the place behind them. */
export function word(at: usize, length: i32, out: usize): usize {
  if (length <= 16) return smallWord(at, length, out)
  if (length <= 32) return largeWord(at, length, out)
  return out + ((<usize>newWord(at, length, out)) << 2)
}

@inline
function newWord(at: usize, length: i32, out: usize): i32 {
  if (whole != 0) {
    const id = findWhole(at, length)
    if (id >= 0) {
      store<u32>(out, id)
      return 1
    }
  }
  return mergeWord(at, length, out)
}

/** The first `length` bytes of 16, and zeros. */
@inline
function first(bytes: v128, length: i32): v128 {
  const places = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
  return v128.and(bytes, i8x16.lt_s(places, i8x16.splat(<i8>length)))
}

@inline
function hashed(key: v128, length: i32): u64 {
  const low = i64x2.extract_lane(key, 0) as u64
  const high = i64x2.extract_lane(key, 1) as u64
  return mixed((low ^ length) + rotl<u64>(high * 0xc2b2ae3d27d4eb4f, 31))
}

@inline
function smallWord(at: usize, length: i32, out: usize): usize {
  const key = first(v128.load(at), length)
  const slot = small + (<usize>(<u32>(hashed(key, length) >> 32) & smallMask)) * SMALL
  if (load<u8>(slot, 16) == <u8>length && !v128.any_true(v128.xor(v128.load(slot), key))) {
    // Three tokens are always copied: what is too much is written over.
    store<u64>(out, load<u64>(slot, 20))
    store<u32>(out, load<u32>(slot, 28), 8)
    return out + ((<usize>load<u8>(slot, 17)) << 2)
  }
  const count = newWord(at, length, out)
  if (count <= SMALL_TOKENS) {
    v128.store(slot, key)
    store<u8>(slot, <u8>length, 16)
    store<u8>(slot, <u8>count, 17)
    for (let i = 0; i < count; i++) store<u32>(slot + (<usize>i << 2), load<u32>(out + (<usize>i << 2)), 20)
  }
  return out + ((<usize>count) << 2)
}

function largeWord(at: usize, length: i32, out: usize): usize {
  const front = v128.load(at)
  const back = first(v128.load(at, 16), length - 16)
  const hash = hashed(front, length) ^ hashed(back, length)
  const slot = large + (<usize>(<u32>(mixed(hash) >> 32) & largeMask)) * LARGE
  if (load<u8>(slot, 32) == <u8>length) {
    const other = v128.or(v128.xor(v128.load(slot), front), v128.xor(v128.load(slot, 16), back))
    if (!v128.any_true(other)) {
      v128.store(out, v128.load(slot, 36))
      store<u64>(out, load<u64>(slot, 52), 16)
      store<u32>(out, load<u32>(slot, 60), 24)
      return out + ((<usize>load<u8>(slot, 33)) << 2)
    }
  }
  const count = newWord(at, length, out)
  if (count <= LARGE_TOKENS) {
    v128.store(slot, front)
    v128.store(slot, back, 16)
    store<u8>(slot, <u8>length, 32)
    store<u8>(slot, <u8>count, 33)
    for (let i = 0; i < count; i++) store<u32>(slot + (<usize>i << 2), load<u32>(out + (<usize>i << 2)), 36)
  }
  return out + ((<usize>count) << 2)
}
