/**
 * Opens a tokenizer, in two steps. `openTokenizer` reads its file in the main thread and makes the tables, or takes those that are
 * kept: what it gives is plain data that is posted to other threads without a copy. `attachTokenizer` makes a tokenizer from it, in any thread.
 */
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { MillraceError, SourceError } from '../../core/basics/errors.js'
import type { TokenizerParams } from '../../core/define/operators/text.js'
import type { OpenedTokenizer as Opened, Tokenizers } from '../../core/define/tokenizer.js'
import { conversion, findTokenizer, type TokenizerConfig, type TokenizerFile } from './find.js'
import { openPackage, type PackageVocabulary } from './package/open.js'
import { PackageTokenizer } from './package/tokenizer.js'
import type { PatternName } from './scan/patterns.js'
import { BpeTokenizer, type Tokenizer } from './tokenizer.js'
import { compiledPath, keepCompiled, readCompiled } from './vocabulary/cache.js'
import { type CompiledVocabulary, compileVocabulary } from './vocabulary/compile.js'
import type { Model } from './vocabulary/model.js'
import { readTiktoken } from './vocabulary/tiktoken.js'
import { parseTokenizerJson, readTokenizerJson } from './vocabulary/tokenizer-json.js'

/** As definitions and commands name a tokenizer; a text alone is its path. */
export type TokenizerJson = Partial<TokenizerParams> & { path: string }

/** The tables lie in shared memory. */
export interface OpenedTokenizer extends Opened {
  special: 'text' | 'parse'
  invalid: 'replace' | 'fatal'
  vocabulary: CompiledVocabulary | PackageVocabulary
}

export async function openTokenizer(
  json: string | TokenizerJson,
  root: string,
  notice: (text: string) => void = () => {},
): Promise<OpenedTokenizer> {
  const {
    path,
    special = 'text',
    invalid = 'replace',
    pattern,
  } = typeof json === 'string' ? { path: json } : json
  const { file, loaded } = read(findTokenizer(path, root), pattern)
  const why = 'why' in loaded ? loaded.why : special === 'parse' ? unparsable(loaded) : undefined
  const vocabulary = why !== undefined ? openPackage(file, why, root, notice) : (loaded as CompiledVocabulary)
  const eod = endOfDocument(new Map(vocabulary.added.map(({ id, text }) => [text, id])), file.config)
  return {
    hash: hashOf(file.bytes, [special, invalid, pattern ?? '', eod ?? '']),
    size: sizeOf(vocabulary),
    name: file.name,
    ...(eod !== undefined && { eod }),
    special,
    invalid,
    vocabulary,
  }
}

function read(found: TokenizerFile, pattern: PatternName | undefined) {
  try {
    const file = asTransformers(found)
    return { file, loaded: loadVocabulary(file, pattern) }
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause
    const { path } = found
    throw new SourceError(`${path} is no tokenizer: ${(cause as Error).message}`, { file: path, cause })
  }
}

/**
 * transformers gives a pre-tokenizer that puts a blank before texts the `add_prefix_space` of tokenizer_config.json, or false where
 * that has none.
 */
function asTransformers(file: TokenizerFile): TokenizerFile {
  const { bytes, config, path } = file
  if (config === undefined || !bytes.includes('"add_prefix_space"')) return file
  const json = parseTokenizerJson(bytes.toString(), path)
  const step = json.pre_tokenizer as { type?: unknown; add_prefix_space?: unknown } | null | undefined
  const wanted = config.add_prefix_space === true
  if (step?.type !== 'ByteLevel' || (step.add_prefix_space ?? true) === wanted) return file
  step.add_prefix_space = wanted
  return { ...file, bytes: Buffer.from(JSON.stringify(json)) }
}

export function attachTokenizer(opened: OpenedTokenizer): Tokenizer {
  const { vocabulary } = opened
  return 'text' in vocabulary
    ? new PackageTokenizer(opened, vocabulary)
    : new BpeTokenizer(vocabulary, opened)
}

/** The tokenizers of fields of text (packages/all/registry.ts). */
export const tokenizers: Tokenizers = {
  open: openTokenizer,
  attach: opened => attachTokenizer(opened as OpenedTokenizer),
}

/** Why the kernel can't find the special tokens of a vocabulary in texts. */
function unparsable({ characters, added }: CompiledVocabulary): string | undefined {
  return characters && added.some(token => token.normalized)
    ? 'it looks for special tokens in texts whose blanks are replaced'
    : undefined
}

function sizeOf({ added, count }: CompiledVocabulary | PackageVocabulary): number {
  return added.reduce((size, { id }) => Math.max(size, id + 1), count)
}

function hashOf(bytes: Uint8Array, details: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(details)).update(bytes).digest('hex').slice(0, 32)
}

/** The first that the vocabulary has is it. */
const NAMES = [
  '<|endoftext|>',
  '<|end_of_text|>',
  '</s>',
  '<eos>',
  '<|end▁of▁sentence|>',
  '<|im_end|>',
  '<|eot_id|>',
  '<|end|>',
]

function endOfDocument(added: ReadonlyMap<string, number>, config: TokenizerConfig = {}): number | undefined {
  const names = [...configured(config), ...NAMES]
  for (const name of names) {
    const id = added.get(name)
    if (id !== undefined) return id
  }
  return undefined
}

/** The `eos_token`: a text, or an object with its `content`. */
function configured({ eos_token: token }: TokenizerConfig): string[] {
  const name = typeof token === 'object' && token !== null && 'content' in token ? token.content : token
  return typeof name === 'string' ? [name] : []
}

/** The vocabulary of a `tokenizer.json`, or of ranks of tiktoken; or why the kernel can't do it. `pattern`: of ranks that are not known. */
function loadVocabulary(file: TokenizerFile, pattern?: PatternName): CompiledVocabulary | { why: string } {
  const kept = compiledPath(file.bytes, pattern ?? '')
  const known = readCompiled(kept)
  if (known !== undefined) return known
  const model = modelIn(file, pattern)
  if ('why' in model) return model
  const compiled = compileVocabulary(model)
  keepCompiled(kept, compiled)
  return compiled
}

function modelIn({ bytes, path }: TokenizerFile, pattern: PatternName | undefined): Model | { why: string } {
  const front = bytes.toString('latin1', 0, 256).trimStart()
  if (front[0] === '{') return readTokenizerJson(bytes.toString(), path)
  // Ranks begin with base64. SentencePiece's models are protocol buffers, whose first byte says so.
  if (/^[A-Za-z0-9+/]+=* \d+\s/.test(front)) return readTiktoken(bytes.toString('latin1'), path, pattern)
  throw new SourceError(
    bytes[0] === 0x0a && path.endsWith('.model')
      ? `${path} is a SentencePiece model, and a tokenizer.json is needed: ${conversion(dirname(path))}`
      : `${path} is neither a tokenizer.json nor a .tiktoken file`,
    { file: path },
  )
}
