/** What a tokenizer.json does to a text before its words are merged: `normalizer` and `pre_tokenizer`, as far as the kernel does the same. */
import { type PatternName, patternOf } from '../scan/patterns.js'
import type { Prefix } from './model.js'

export type Json = Record<string, unknown>

export interface Steps {
  /** Words are made of bytes, or of characters with "▁" in place of blanks. */
  of: 'bytes' | 'characters'
  pattern: PatternName
  prefix?: Prefix
  nfc: boolean
}

/** In SentencePiece's vocabularies it stands for a blank. */
export const BLANK = '\u2581'

export function stepsIn(normalizer: unknown, preTokenizer: unknown): Steps | { why: string } {
  const normal = normalizerIn(normalizer as Json | null | undefined)
  if ('why' in normal) return normal
  const [first, second, ...more] = flat(preTokenizer as Json | null | undefined, 'pretokenizers')
  if (more.length > 0) return { why: 'it cuts words in several steps' }
  const { nfc, blanks, prepend } = normal
  if (first === undefined || (isBlankSplit(first) && blanks && second === undefined))
    return blanks
      ? { of: 'characters', pattern: 'none', nfc, ...(prepend && { prefix: 'always' }) }
      : { why: 'it does not cut words' }
  if (blanks || prepend) return { why: `its normalizer and its pre-tokenizer ${first.type} come together` }
  if (first.type === 'Metaspace' && second === undefined) return metaspace(first, nfc)
  const bytes = second ?? first
  if (bytes.type !== 'ByteLevel') return { why: `its pre-tokenizer is ${bytes.type}` }
  const prefix = bytes.add_prefix_space === true
  if (second === undefined)
    return {
      of: 'bytes',
      pattern: bytes.use_regex === false ? 'none' : 'gpt2',
      nfc,
      ...(prefix && { prefix: 'unlessBlank' }),
    }
  if (first.type !== 'Split' || bytes.use_regex !== false || prefix || first.invert === true)
    return { why: 'it cuts words in several steps' }
  const { Regex: text } = (first.pattern ?? {}) as Json
  const pattern = typeof text === 'string' ? patternOf(text) : undefined
  if (pattern === undefined || first.behavior !== 'Isolated')
    return { why: `there is no scanner for its pattern ${JSON.stringify(first.pattern)}` }
  return { of: 'bytes', pattern, nfc }
}

/** A list of steps in one, or one step. */
function flat(json: Json | null | undefined, key: string): Json[] {
  if (json === null || json === undefined) return []
  return json.type === 'Sequence' ? ((json[key] ?? []) as Json[]).flatMap(step => flat(step, key)) : [json]
}

function normalizerIn(
  json: Json | null | undefined,
): { nfc: boolean; blanks: boolean; prepend: boolean } | { why: string } {
  const normal = { nfc: false, blanks: false, prepend: false }
  for (const step of flat(json, 'normalizers')) {
    const { String: from } = (step.pattern ?? {}) as Json
    if (step.type === 'NFC') normal.nfc = true
    else if (step.type === 'Prepend' && step.prepend === BLANK && !normal.prepend) normal.prepend = true
    else if (step.type === 'Replace' && from === ' ' && step.content === BLANK) normal.blanks = true
    else return { why: `its normalizer is ${step.type}` }
  }
  return normal
}

/** Gemma cuts behind blanks, of which its normalizer leaves none. */
function isBlankSplit(step: Json): boolean {
  return step.type === 'Split' && (step.pattern as Json | undefined)?.String === ' '
}

function metaspace(step: Json, nfc: boolean): Steps | { why: string } {
  if (step.replacement !== BLANK) return { why: `it writes blanks as ${JSON.stringify(step.replacement)}` }
  const scheme = step.prepend_scheme ?? (step.add_prefix_space === false ? 'never' : 'always')
  const prefix: Prefix | undefined =
    scheme === 'never' ? undefined : scheme === 'first' ? 'firstUnlessBlank' : 'unlessBlank'
  return {
    of: 'characters',
    pattern: step.split === false ? 'none' : 'space',
    nfc,
    ...(prefix && { prefix }),
  }
}
