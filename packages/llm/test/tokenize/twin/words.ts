/**
 * The words of a text, in plain TypeScript: the same patterns as the kernel's scanners (kernels/assembly/parts/scan.ts), over the same
 * classes of characters. Slower, and easier to read; tests hold one against the other.
 */

import type { PatternName } from '../../../tokenize/scan/patterns.js'
import { classOf } from '../../../tokenize/token-finder.js'

const [OTHER, SPACE, BREAK, NUMBER, UPPER, LOWER, CASELESS, MARK] = [0, 1, 2, 3, 4, 5, 6, 7]
const isSpace = (kind: number): boolean => kind === SPACE || kind === BREAK
const isLetter = (kind: number): boolean => kind === UPPER || kind === LOWER || kind === CASELESS
const isNumber = (kind: number): boolean => kind === NUMBER
const isBreak = (kind: number): boolean => kind === BREAK
const isSign = (kind: number): boolean => kind === OTHER || kind === MARK
const isLead = (kind: number): boolean => isSign(kind) || kind === SPACE
const isFront = (kind: number): boolean => kind === UPPER || kind === CASELESS || kind === MARK
const isBack = (kind: number): boolean => kind === LOWER || kind === CASELESS || kind === MARK

/** A text as characters and their classes. */
interface Text {
  characters: readonly string[]
  kinds: readonly number[]
}

/** Cuts a text into words. */
export function wordsOf(text: string, pattern: PatternName): string[] {
  const characters = [...text]
  const all: Text = { characters, kinds: characters.map(character => classOf(character.codePointAt(0)!)) }
  const words: string[] = []
  for (let at = 0; at < characters.length; ) {
    const end = ENDS[pattern](all, at)
    words.push(characters.slice(at, end).join(''))
    at = end
  }
  return words
}

const ENDS: Readonly<Record<PatternName, (text: Text, at: number) => number>> = {
  gpt2,
  cl100k: (text, at) => cl100k(text, at, 3),
  qwen2: (text, at) => cl100k(text, at, 1),
  o200k: (text, at) => o200k(text, at, true),
  tekken: (text, at) => o200k(text, at, false),
  spaces: (text, at) => spaced(text, at, Number.POSITIVE_INFINITY),
  space: (text, at) => spaced(text, at, 1),
  none: ({ kinds }) => kinds.length,
}

/** Blanks, up to so many, and what stands before the next one. */
function spaced({ characters }: Text, at: number, most: number): number {
  const isBlank = (i: number): boolean => characters[i] === ' ' || characters[i] === '\u2581'
  let end = at
  while (end < characters.length && isBlank(end) && end - at < most) end++
  while (end < characters.length && !isBlank(end)) end++
  return end
}

function gpt2(text: Text, at: number): number {
  const { characters, kinds } = text
  const short = /^'(?:s|t|re|ve|m|ll|d)/.exec(characters.slice(at, at + 3).join(''))
  if (short !== null) return at + short[0].length
  const from = characters[at] === ' ' && at + 1 < kinds.length && !isSpace(kinds[at + 1]) ? at + 1 : at
  for (const set of [isLetter, isNumber, isSign]) if (set(kinds[from])) return run(text, set, from)
  return spaces(text, at)
}

function cl100k(text: Text, at: number, digits: number): number {
  const { characters, kinds } = text
  const short = contraction(text, at)
  if (short > at) return short
  const from = isLead(kinds[at]) ? at + 1 : at
  if (isLetter(kinds[from])) return run(text, isLetter, from)
  if (isNumber(kinds[at])) return Math.min(run(text, isNumber, at), at + digits)
  const signs = characters[at] === ' ' ? at + 1 : at
  if (isSign(kinds[signs])) return run(text, isBreak, run(text, isSign, signs))
  return breaks(text, at)
}

function o200k(text: Text, at: number, endings: boolean): number {
  const { characters, kinds } = text
  const starts = isLead(kinds[at]) ? [at + 1, at] : [at]
  for (const from of starts) {
    const end = cased(text, from)
    if (end > from) return endings ? Math.max(end, contraction(text, end)) : end
  }
  for (const from of starts) {
    const end = run(text, isFront, from)
    if (end > from) return endings ? Math.max(end, contraction(text, end)) : end
  }
  if (isNumber(kinds[at])) return Math.min(run(text, isNumber, at), at + (endings ? 3 : 1))
  const signs = characters[at] === ' ' ? at + 1 : at
  if (isSign(kinds[signs])) {
    let end = run(text, isSign, signs)
    while (end < kinds.length && /[\r\n/]/.test(characters[end])) end++
    return end
  }
  return breaks(text, at)
}

/** The end of [fronts]*[backs]+, as a pattern that goes back finds it; `at` where there is none. */
function cased(text: Text, at: number): number {
  for (let front = run(text, isFront, at); front >= at; front--) {
    const end = run(text, isBack, front)
    if (end > front) return end
  }
  return at
}

function run({ kinds }: Text, set: (kind: number) => boolean, at: number): number {
  let end = at
  while (end < kinds.length && set(kinds[end])) end++
  return end
}

function spaces(text: Text, at: number): number {
  const end = run(text, isSpace, at)
  return end === text.kinds.length || end === at + 1 ? end : end - 1
}

function breaks(text: Text, at: number): number {
  const last = text.kinds.slice(at, run(text, isSpace, at)).lastIndexOf(BREAK)
  return last >= 0 ? at + last + 1 : spaces(text, at)
}

/** 's 't 're 've 'm 'll 'd in either case; the long s is an s. */
function contraction({ characters }: Text, at: number): number {
  const found = /^'(?:[sſtmd]|re|ve|ll)/i.exec(characters.slice(at, at + 3).join(''))
  return found === null ? at : at + found[0].length
}
