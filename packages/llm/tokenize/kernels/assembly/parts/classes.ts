/**
 * Classes of characters, as the patterns of tokenizers tell them apart, in UTF-8 that is known to be valid. The tables are
 * made by scripts/generate/character-classes.mjs.
 */

export const OTHER: u32 = 0
export const SPACE: u32 = 1
/** CR and LF. */
export const BREAK: u32 = 2
export const NUMBER: u32 = 3
/** Upper and title case. */
export const UPPER: u32 = 4
export const LOWER: u32 = 5
/** Letters without case. */
export const CASELESS: u32 = 6
export const MARK: u32 = 7

/** Sets of classes, a bit each. */
export const SPACES: u32 = (1 << SPACE) | (1 << BREAK)
export const LETTERS: u32 = (1 << UPPER) | (1 << LOWER) | (1 << CASELESS)
export const NUMBERS: u32 = 1 << NUMBER
export const BREAKS: u32 = 1 << BREAK
/** What is neither a letter, a number nor a space. */
export const SIGNS: u32 = (1 << OTHER) | (1 << MARK)
/** What may stand before letters in their word. */
export const LEADS: u32 = (1 << OTHER) | (1 << MARK) | (1 << SPACE)
/** o200k: what may stand in the front and in the back of a word. */
export const FRONTS: u32 = (1 << UPPER) | (1 << CASELESS) | (1 << MARK)
export const BACKS: u32 = (1 << LOWER) | (1 << CASELESS) | (1 << MARK)
export const EITHER: u32 = (1 << CASELESS) | (1 << MARK)

/** Where the tables lie: by code point / 128 the number of a block (u16), and blocks of 128 classes; ASCII is the first. */
let places: usize = 0
let blocks: usize = 0
/** Bytes of the character whose class was asked for last. */
export let width: usize = 0

export function useClasses(placesAt: usize, blocksAt: usize): void {
  places = placesAt
  blocks = blocksAt
}

@inline
function classOf(point: u32): u32 {
  return load<u8>(blocks + (<usize>load<u16>(places + <usize>((point >> 7) << 1)) << 7) + (point & 127))
}

/** The class of the character at `at`, which is before the end; sets `width`. */
@inline
export function classAt(at: usize): u32 {
  const first: u32 = load<u8>(at)
  if (first < 128) {
    width = 1
    return load<u8>(blocks + first)
  }
  return wideClassAt(at, first)
}

function wideClassAt(at: usize, first: u32): u32 {
  const second: u32 = load<u8>(at, 1) & 63
  if (first < 0xe0) {
    width = 2
    return classOf(((first & 31) << 6) | second)
  }
  const third: u32 = load<u8>(at, 2) & 63
  if (first < 0xf0) {
    width = 3
    return classOf(((first & 15) << 12) | (second << 6) | third)
  }
  width = 4
  return classOf(((first & 7) << 18) | (second << 12) | (third << 6) | (load<u8>(at, 3) & 63))
}

/** Whether a class is in a set. */
@inline
export function among(set: u32, kind: u32): bool {
  return ((set >> kind) & 1) != 0
}

/** The end of the run of characters of a set that begins at `at`; `at` where there is none. */
@inline
export function runOf(set: u32, at: usize, end: usize): usize {
  while (at < end) {
    if (!among(set, classAt(at))) break
    at += width
  }
  return at
}
