/**
 * `tokenizer.json` of Hugging Face, as far as the kernel can do what it says: BPE over bytes, or over characters with bytes for the
 * others. What else it may say gives a reason, and the package `tokenizers` is asked instead (package/).
 */
import { SourceError } from '../../../core/basics/errors.js'
import type { PatternName } from '../scan/patterns.js'
import {
  type AddedToken,
  BYTE_LETTERS,
  bytesOfLetters,
  MOST_RANKS,
  MOST_TOKENS,
  type Model,
} from './model.js'
import { BLANK, type Json, stepsIn } from './steps.js'

export interface TokenizerFileJson extends Json {
  model: Json
}

export function parseTokenizerJson(text: string, file: string): TokenizerFileJson {
  let json: Json | null
  try {
    json = JSON.parse(text) as Json | null
  } catch (cause) {
    throw new SourceError(`${file} is no JSON: ${(cause as Error).message}`, { file, cause })
  }
  const model = json?.model
  if (typeof model !== 'object' || model === null)
    throw new SourceError(`${file} has no "model": it is no tokenizer.json`, { file })
  const parsed = { ...json, model: model as Json }
  checkIds(parsed, file)
  return parsed
}

/** Numbers of tokens are below this: they are kept as i32. */
const ID_END = 2 ** 31
/** Numbers that no token has may be so many: tables have a place for each. */
const MOST_GAPS = 2 ** 20

/** Checks that tokens have numbers, each another one, and that these lie close together. */
function checkIds({ model: { vocab, merges }, added_tokens: list }: TokenizerFileJson, file: string): void {
  const refuse = (problem: string): never => {
    throw new SourceError(`${file}: ${problem}. Get the file again from where the model is published`, {
      file,
    })
  }
  if (typeof vocab !== 'object' || vocab === null) refuse('"vocab" of its model should have the tokens')
  if (!Array.isArray(list ?? [])) refuse('"added_tokens" should be a list')
  if (!Array.isArray(merges ?? []) || !((merges ?? []) as unknown[]).every(isMerge))
    refuse('"merges" of its model should be a list of pairs of tokens')
  const names = new Map<number, string>()
  const ids = new Map(Object.entries(vocab as Json))
  let end = 0
  const take = (text: unknown, id: unknown): void => {
    const shown = JSON.stringify(text)
    if (typeof text !== 'string') return void refuse(`a token is called ${shown}, which is no text`)
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= ID_END)
      return void refuse(
        `the token ${shown} has the number ${JSON.stringify(id)}: numbers are 0 to ${ID_END - 1}`,
      )
    const other = names.get(id) ?? text
    if (other !== text) refuse(`the tokens ${JSON.stringify(other)} and ${shown} both have the number ${id}`)
    names.set(id, text)
    end = Math.max(end, id + 1)
  }
  if (Array.isArray(vocab)) for (const [id, piece] of vocab.entries()) take(piece?.[0], id)
  else for (const [text, id] of ids) take(text, id)
  for (const token of (list ?? []) as (Json | null)[]) {
    take(token?.content, token?.id)
    const { content, id } = token as { content: string; id: number }
    const known = Array.isArray(vocab) ? undefined : ids.get(content)
    if ((known ?? id) !== id)
      refuse(`the token ${JSON.stringify(content)} has the numbers ${known} and ${id}`)
  }
  if (end - names.size > MOST_GAPS)
    refuse(
      `its tokens have numbers up to ${end - 1}, and ${end - names.size} of these are no token's: at most ${MOST_GAPS} may be free`,
    )
}

function isMerge(merge: unknown): boolean {
  if (typeof merge === 'string') return merge.includes(' ')
  return Array.isArray(merge) && merge.length === 2 && merge.every(part => typeof part === 'string')
}

export function readTokenizerJson(text: string, file: string): Model | { why: string } {
  const json = parseTokenizerJson(text, file)
  const { model } = json
  if (model.dropout)
    throw new SourceError(
      `${file} drops merges at random ("dropout": ${model.dropout}), so that a text has other tokens each time: set it to null`,
      { file },
    )
  const why = unlikeOurs(model)
  if (why !== undefined) return { why }
  const steps = stepsIn(json.normalizer, json.pre_tokenizer)
  if ('why' in steps) return steps
  const { of, pattern, prefix, nfc } = steps
  if (Array.isArray(model.vocab)) return { why: 'its tokens have no numbers but their places' }
  const ids = new Map(Object.entries(model.vocab as Record<string, number>))
  const merges = mergesIn((model.merges ?? []) as Merge[], ids, file)
  let end = 0
  for (const id of ids.values()) end = Math.max(end, id + 1)
  if (end > MOST_TOKENS || merges.made.length > MOST_RANKS)
    return { why: `its tokens have numbers up to ${end - 1}, more than ${MOST_TOKENS}` }
  const added = addedTokens(json)
  if (of === 'bytes') {
    const bytes = symbolsOf(BYTE_LETTERS, ids)
    if (bytes === undefined) return { why: 'it has no tokens for some of the bytes' }
    const tokens = tokensOf(ids, end, text => bytesOfLetters(text) ?? NOTHING)
    return {
      pattern,
      nfc,
      added,
      tokens,
      bytes,
      ...merges,
      whole: model.ignore_merges === true,
      ...(prefix && { prefix }),
    }
  }
  if (model.byte_fallback !== true) return { why: 'it has no bytes for characters without a token' }
  if (model.ignore_merges === true) return { why: 'it does not merge words of characters that are tokens' }
  if (added.some(token => token.normalized && !token.special))
    return { why: 'it looks for added tokens in texts whose blanks are replaced' }
  const bytes = symbolsOf(
    Array.from({ length: 256 }, (_, byte) => byteToken(byte)),
    ids,
  )
  if (bytes === undefined || !ids.has(BLANK)) return { why: 'it has no tokens for some of the bytes' }
  for (let byte = 0; byte < 128; byte++)
    bytes[byte] = ids.get(byte === 32 ? BLANK : String.fromCharCode(byte)) ?? bytes[byte]
  return {
    pattern: wordsAt(pattern, (model.merges ?? []) as Merge[]),
    nfc,
    added,
    tokens: tokensOf(ids, end, bytesOfPiece),
    bytes,
    characters: charactersIn(ids),
    ...merges,
    whole: false,
    ...(prefix && { prefix }),
  }
}

const NOTHING = new Uint8Array(0)

function unlikeOurs(model: Json): string | undefined {
  if (model.type !== 'BPE' && model.type !== undefined) return `its model is ${model.type}`
  if (model.continuing_subword_prefix) return 'it marks parts of words'
  if (model.end_of_word_suffix) return 'it marks ends of words'
  return undefined
}

export function addedTokens({ added_tokens: list }: TokenizerFileJson): AddedToken[] {
  return ((list ?? []) as Json[]).map(
    ({ id, content, special, normalized, lstrip, rstrip, single_word }) => ({
      id: id as number,
      text: content as string,
      special: Boolean(special),
      ...(normalized === true && { normalized }),
      ...(lstrip === true && { lstrip }),
      ...(rstrip === true && { rstrip }),
      ...(single_word === true && { singleWord: true }),
    }),
  )
}

function tokensOf(
  ids: ReadonlyMap<string, number>,
  size: number,
  spelled: (text: string) => Uint8Array,
): Uint8Array[] {
  const tokens: Uint8Array[] = new Array(size).fill(NOTHING)
  for (const [text, id] of ids) tokens[id] = spelled(text)
  return tokens
}

/** The tokens of texts; undefined where one has none. */
function symbolsOf(texts: readonly string[], ids: ReadonlyMap<string, number>): Uint32Array | undefined {
  const found = texts.map(text => ids.get(text))
  return found.includes(undefined) ? undefined : Uint32Array.from(found as number[])
}

/** A merge is two tokens; older files write them as one text, with a blank between. */
type Merge = string | [string, string]

function partsOf(merge: Merge): [string, string] {
  if (typeof merge !== 'string') return merge
  const blank = merge.indexOf(' ')
  return [merge.slice(0, blank), merge.slice(blank + 1)]
}

function mergesIn(
  list: readonly Merge[],
  ids: ReadonlyMap<string, number>,
  file: string,
): Pick<Model, 'pairs' | 'made'> {
  const made = new Uint32Array(list.length)
  /** Of a pair that is there twice, the last counts. */
  const ranks = new Map<number, number>()
  list.forEach((merge, rank) => {
    const [left, right] = partsOf(merge)
    const [a, b, c] = [ids.get(left), ids.get(right), ids.get(left + right)]
    if (a === undefined || b === undefined || c === undefined)
      throw new SourceError(
        `${file}: merge ${rank}, ${JSON.stringify(merge)}, is of tokens that are not in "vocab"`,
        { file },
      )
    ranks.set(a * 2 ** 20 + b, rank)
    made[rank] = c
  })
  const pairs = new Uint32Array(3 * ranks.size)
  let at = 0
  for (const [key, rank] of ranks) {
    pairs[at++] = Math.floor(key / 2 ** 20)
    pairs[at++] = key % 2 ** 20
    pairs[at++] = rank
  }
  return { pairs, made }
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`
}

/** What a token of characters stands for. */
function bytesOfPiece(text: string): Uint8Array {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(text)
  return byte === null
    ? Buffer.from(text.replaceAll(BLANK, ' '))
    : Uint8Array.of(Number.parseInt(byte[1], 16))
}

/** Tokens of one character beyond ASCII. */
function charactersIn(ids: ReadonlyMap<string, number>): Map<number, number> {
  const characters = new Map<number, number>()
  for (const [text, id] of ids) {
    const point = text.codePointAt(0) ?? 0
    if (point >= 128 && text.length === (point > 0xffff ? 2 : 1)) characters.set(point, id)
  }
  return characters
}

/**
 * Where no merge reaches from a character to the blank behind it, what stands on the two sides of such a place never meets: the text can be cut
 * there, and each part is merged by itself.
 */
function wordsAt(pattern: PatternName, merges: readonly Merge[]): PatternName {
  if (pattern !== 'none') return pattern
  const crossing = merges.some(merge => {
    const [left, right] = partsOf(merge)
    return !left.endsWith(BLANK) && right.startsWith(BLANK)
  })
  return crossing ? 'none' : 'spaces'
}
