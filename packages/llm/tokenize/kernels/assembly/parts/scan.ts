/**
 * The words of a text, by the patterns of GPT-2, cl100k (Llama 3, Qwen 2) and o200k. Each function gives the end of the word that
 * begins at `at`, as the pattern's first match there has it; the tests compare every border with the package `tokenizers`.
 */
import {
  among,
  BACKS,
  BREAK,
  BREAKS,
  classAt,
  EITHER,
  FRONTS,
  LEADS,
  LETTERS,
  LOWER,
  MARK,
  NUMBER,
  NUMBERS,
  runOf,
  SIGNS,
  SPACES,
  width,
} from './classes'

const APOSTROPHE: u32 = 0x27
const BLANK: u32 = 0x20
const SLASH: u32 = 0x2f

/** Pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
export function gpt2(at: usize, end: usize): usize {
  const first: u32 = load<u8>(at)
  if (first == APOSTROPHE) {
    const found = lowerContraction(at, end)
    if (found != at) return found
  }
  let kind = classAt(at)
  let from = at + width
  if (first == BLANK && from < end) {
    const next = classAt(from)
    if (!among(SPACES, next)) {
      kind = next
      from += width
    }
  }
  if (among(LETTERS, kind)) return runOf(LETTERS, from, end)
  if (kind == NUMBER) return runOf(NUMBERS, from, end)
  if (among(SIGNS, kind)) return runOf(SIGNS, from, end)
  return spaces(at, end)
}

/**
 * Pattern, with 3 or 1 as `digits`:
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
export function cl100k(at: usize, end: usize, digits: i32): usize {
  const first: u32 = load<u8>(at)
  if (first == APOSTROPHE) {
    const found = contraction(at, end)
    if (found != at) return found
  }
  const kind = classAt(at)
  const from = at + width
  if (among(LETTERS, kind)) return runOf(LETTERS, from, end)
  if (kind == NUMBER) return numbers(from, end, digits - 1)
  if (among(LEADS, kind) && from < end) {
    const next = classAt(from)
    if (among(LETTERS, next)) return runOf(LETTERS, from + width, end)
    if (first == BLANK && among(SIGNS, next)) return runOf(BREAKS, runOf(SIGNS, from + width, end), end)
  }
  if (among(SIGNS, kind)) return runOf(BREAKS, runOf(SIGNS, from, end), end)
  return spacesAndBreaks(at, end)
}

/**
 * Pattern: [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
 * [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
 * \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * Without `endings`: the same without (?i:…)?, and one number, as Mistral's Tekken has it.
 */
export function o200k(at: usize, end: usize, endings: bool): usize {
  const first: u32 = load<u8>(at)
  const kind = classAt(at)
  const from = at + width
  if (kind == NUMBER) return endings ? numbers(from, end, 2) : from
  const lead = among(LEADS, kind)
  const own = kind == MARK || among(LETTERS, kind)
  if (lead) {
    const to = cased(from, end)
    if (to != from) return suffixed(to, end, endings)
  }
  if (own) {
    const to = cased(at, end)
    if (to != at) return suffixed(to, end, endings)
  }
  // What is left has no letter but of upper case.
  if (lead) {
    const to = runOf(FRONTS, from, end)
    if (to != from) return suffixed(to, end, endings)
  }
  if (own) return suffixed(runOf(FRONTS, at, end), end, endings)
  if (first == BLANK && from < end && among(SIGNS, classAt(from)))
    return breaksAndSlashes(runOf(SIGNS, from + width, end), end)
  if (among(SIGNS, kind)) return breaksAndSlashes(runOf(SIGNS, from, end), end)
  return spacesAndBreaks(at, end)
}

/** The end of [fronts]*[backs]+ from `at` on; `at` where there is none. */
function cased(at: usize, end: usize): usize {
  let last: usize = 0
  let front = at
  while (front < end) {
    const kind = classAt(front)
    if (!among(FRONTS, kind)) {
      if (kind == LOWER) return runOf(BACKS, front + width, end)
      break
    }
    front += width
    if (among(EITHER, kind)) last = front
  }
  return last == 0 ? at : last
}

/** A word of SentencePiece: blanks, or "▁", and what stands before the next of them. `each`: it begins with one blank. */
export function spaced(at: usize, end: usize, each: bool): usize {
  let to = at + blankAt(at, end)
  if (!each) for (let more = blankAt(to, end); more != 0; more = blankAt(to, end)) to += more
  while (to < end && blankAt(to, end) == 0) to++
  return to
}

/** Bytes of the blank at `at`; 0 where there is none. */
@inline
function blankAt(at: usize, end: usize): usize {
  if (at >= end) return 0
  const byte: u32 = load<u8>(at)
  if (byte == BLANK) return 1
  return byte == 0xe2 && at + 2 < end && load<u8>(at, 1) == 0x96 && load<u8>(at, 2) == 0x81 ? 3 : 0
}

@inline
function suffixed(at: usize, end: usize, endings: bool): usize {
  return endings && at < end && load<u8>(at) == <u8>APOSTROPHE ? contraction(at, end) : at
}

@inline
function breaksAndSlashes(at: usize, end: usize): usize {
  while (at < end) {
    const byte: u32 = load<u8>(at)
    if (byte != 10 && byte != 13 && byte != SLASH) break
    at++
  }
  return at
}

/** Up to `more` numbers. */
@inline
function numbers(at: usize, end: usize, more: i32): usize {
  while (more-- > 0 && at < end && classAt(at) == NUMBER) at += width
  return at
}

/** Pattern: \s+(?!\S)|\s+ */
function spaces(at: usize, end: usize): usize {
  let last = at
  let to = at
  while (to < end) {
    if (!among(SPACES, classAt(to))) return last > at ? last : to
    last = to
    to += width
  }
  return to
}

/** Pattern: \s*[\r\n]+|\s+(?!\S)|\s+ */
function spacesAndBreaks(at: usize, end: usize): usize {
  let last = at
  let to = at
  let broken = at
  while (to < end) {
    const kind = classAt(to)
    if (!among(SPACES, kind)) {
      if (broken > at) return broken
      return last > at ? last : to
    }
    last = to
    to += width
    if (kind == BREAK) broken = to
  }
  return broken > at ? broken : to
}

/** The end of 's 't 're 've 'm 'll 'd at `at`; `at` where there is none. */
function lowerContraction(at: usize, end: usize): usize {
  if (at + 1 >= end) return at
  const one: u32 = load<u8>(at, 1)
  if (one == 0x73 || one == 0x74 || one == 0x6d || one == 0x64) return at + 2
  if (at + 2 >= end) return at
  const two: u32 = load<u8>(at, 2)
  const pair = (one == 0x72 || one == 0x76) && two == 0x65
  return pair || (one == 0x6c && two == 0x6c) ? at + 3 : at
}

/** The same in either case; the long s (U+017F) is an s. */
function contraction(at: usize, end: usize): usize {
  if (at + 1 >= end) return at
  const byte: u32 = load<u8>(at, 1)
  if (byte >= 128) return at + 2 < end && byte == 0xc5 && load<u8>(at, 2) == 0xbf ? at + 3 : at
  const one = byte | 0x20
  if (one == 0x73 || one == 0x74 || one == 0x6d || one == 0x64) return at + 2
  if (at + 2 >= end) return at
  const second: u32 = load<u8>(at, 2)
  if (second >= 128) return at
  const two = second | 0x20
  const pair = (one == 0x72 || one == 0x76) && two == 0x65
  return pair || (one == 0x6c && two == 0x6c) ? at + 3 : at
}
