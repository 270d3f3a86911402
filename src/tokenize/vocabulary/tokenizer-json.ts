/**
 * `tokenizer.json` of Hugging Face, as far as the kernel can do what it says: BPE over bytes, cut into words by a pattern that has a
 * scanner. What else it may say gives a reason, and the package `tokenizers` is asked instead (other.ts).
 */
import { SourceError } from '../../basics/errors.js'
import { type PatternName, patternOf } from '../scan/patterns.js'
import type { AddedToken, Model } from './model.js'

type Json = Record<string, unknown>

/** The file, parsed. */
export interface TokenizerFileJson extends Json {
  model: Json
}

export function parseTokenizerJson(text: string, file: string): TokenizerFileJson {
  let json: Json
  try {
    json = JSON.parse(text) as Json
  } catch (cause) {
    throw new SourceError(`${file} is no JSON: ${(cause as Error).message}`, { file, cause })
  }
  const { model } = json
  if (typeof model !== 'object' || model === null)
    throw new SourceError(`${file} has no "model": it is no tokenizer.json`, { file })
  return { ...json, model: model as Json }
}

/** The model, or why the kernel can't do it. */
export function readTokenizerJson(text: string, file: string): Model | { why: string } {
  const json = parseTokenizerJson(text, file)
  const { model } = json
  const why = unlikeOurs(model)
  if (why !== undefined) return { why }
  const pattern = patternIn(json.pre_tokenizer as Json | null)
  if (typeof pattern !== 'string') return pattern
  const normal = normalizerIn(json.normalizer as Json | null)
  if (typeof normal !== 'boolean') return normal
  const vocabulary = model.vocab as Record<string, number>
  const added = addedIn(json.added_tokens as Json[] | undefined, normal)
  if (!Array.isArray(added)) return added
  return { pattern, nfc: normal, added, ...merges(model, vocabulary, file) }
}

function unlikeOurs(model: Json): string | undefined {
  if (model.type !== 'BPE' && model.type !== undefined) return `its model is ${model.type}`
  if (model.dropout) return 'it drops merges at random'
  if (model.continuing_subword_prefix) return 'it marks parts of words'
  if (model.end_of_word_suffix) return 'it marks ends of words'
  if (model.byte_fallback) return 'it is made of characters, with bytes for the others'
  return undefined
}

/** The pattern, or why there is none. */
function patternIn(json: Json | null): PatternName | { why: string } {
  const steps = json?.type === 'Sequence' ? (json.pretokenizers as Json[]) : json === null ? [] : [json]
  const last = steps.at(-1)
  if (last?.type !== 'ByteLevel') return { why: 'its words are not made of bytes' }
  if (last.add_prefix_space) return { why: 'it puts a space before the text' }
  if (steps.length === 1 && last.use_regex !== false) return 'gpt2'
  const [split] = steps
  if (steps.length !== 2 || split.type !== 'Split' || last.use_regex !== false || split.invert)
    return { why: 'it cuts words in several steps' }
  const { Regex: text } = split.pattern as Json
  const known = typeof text === 'string' ? patternOf(text) : undefined
  if (known === undefined || split.behavior !== 'Isolated')
    return { why: `there is no scanner for its pattern ${JSON.stringify(split.pattern)}` }
  return known
}

function normalizerIn(json: Json | null): boolean | { why: string } {
  if (json === null || json === undefined) return false
  if (json.type === 'NFC') return true
  return { why: `its normalizer is ${json.type}` }
}

/** The added tokens, by number and text. */
export function addedTokens({ added_tokens: list }: TokenizerFileJson): AddedToken[] {
  return ((list ?? []) as Json[]).map(({ id, content, special }) => ({
    id: id as number,
    text: content as string,
    special: Boolean(special),
  }))
}

function addedIn(list: Json[] | undefined, nfc: boolean): AddedToken[] | { why: string } {
  const added: AddedToken[] = []
  for (const { id, content, special, lstrip, rstrip, single_word, normalized } of list ?? []) {
    if (
      lstrip ||
      rstrip ||
      single_word ||
      (normalized && nfc && content !== (content as string).normalize('NFC'))
    )
      return { why: `its token ${JSON.stringify(content)} takes in the spaces around it` }
    added.push({ id: id as number, text: content as string, special: Boolean(special) })
  }
  return added
}

function merges(
  model: Json,
  vocabulary: Readonly<Record<string, number>>,
  file: string,
): Pick<Model, 'tokens' | 'bytes' | 'pairs' | 'made' | 'whole'> {
  const ids = new Map(Object.entries(vocabulary))
  let size = 0
  for (const id of ids.values()) size = Math.max(size, id + 1)
  const tokens: Uint8Array[] = new Array(size).fill(new Uint8Array(0))
  for (const [text, id] of ids) tokens[id] = bytesOf(text) ?? new Uint8Array(0)
  const list = model.merges as (string | [string, string])[]
  const pairs = new Uint32Array(3 * list.length)
  const made = new Uint32Array(list.length)
  list.forEach((merge, rank) => {
    const [left, right] = typeof merge === 'string' ? splitMerge(merge) : merge
    const [a, b, c] = [ids.get(left), ids.get(right), ids.get(left + right)]
    if (a === undefined || b === undefined || c === undefined)
      throw new SourceError(
        `${file}: merge ${rank}, ${JSON.stringify(merge)}, is of tokens that are not in "vocab"`,
        {
          file,
        },
      )
    pairs.set([a, b, rank], 3 * rank)
    made[rank] = c
  })
  const bytes = Uint32Array.from(ALPHABET, (letter, byte) => {
    const id = ids.get(letter)
    if (id !== undefined) return id
    throw new SourceError(
      `${file}: its "vocab" has no token for the byte ${byte} (${JSON.stringify(letter)})`,
      {
        file,
      },
    )
  })
  return { tokens, bytes, pairs, made, whole: model.ignore_merges === true }
}

/** Older files write a merge as one text, with a space between; a token may begin with none. */
function splitMerge(merge: string): [string, string] {
  const space = merge.indexOf(' ')
  return [merge.slice(0, space), merge.slice(space + 1)]
}

/** The letter that stands for each byte: itself where it can be seen, otherwise one from U+0100 on. */
const ALPHABET: readonly string[] = alphabet()
const BYTES: ReadonlyMap<string, number> = new Map(ALPHABET.map((letter, byte) => [letter, byte]))

function alphabet(): string[] {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    return String.fromCharCode(seen ? byte : next++)
  })
}

/** The bytes that a token of the vocabulary spells; undefined where it has other letters: an added one. */
function bytesOf(text: string): Uint8Array | undefined {
  const bytes = Array.from(text, letter => BYTES.get(letter))
  return bytes.includes(undefined) ? undefined : Uint8Array.from(bytes as number[])
}
