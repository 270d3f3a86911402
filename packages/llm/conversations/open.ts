/**
 * Opens conversations: all are rendered and tokenised once and kept, by what they were made of. From there on they are rows of
 * the source `tokens`, or pairs.
 */
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DefinitionError, SourceError } from '../../core/basics/errors.js'
import { allSources, isBuiltIn, nameOf } from '../../core/define/nested.js'
import type { ChatJson } from '../../core/define/types.js'
import { withLock } from '../../core/source/index/lock.js'
import type { Manifest, Nesting, OpenContext, Source } from '../../core/source/source.js'
import { makeFolder } from '../../core/system/files/folder.js'
import { type FoundTemplate, findTemplate } from '../chat/find-template.js'
import { findTokenizer } from '../tokenize/find.js'
import { type OpenedTokenizer, openTokenizer } from '../tokenize/open.js'
import { DTYPE_CODES, INDEX_HEADER } from '../tokens/formats/megatron.js'
import { digest } from '../tokens/kept-tables.js'
import { openTokens } from '../tokens/open.js'
import { type KeptChat, keptPath, readKept } from './kept.js'
import { PARTS, type PairsManifest } from './pairs-source.js'
import { prepareChat } from './prepare.js'
import type { ChatSetup } from './rows.js'

/** Part of what states are checked against. */
const VERSION = 1
/** Changes with what is kept of the same conversations. */
const KEPT = 2

export async function openChat(json: ChatJson, context: OpenContext, nesting: Nesting): Promise<Manifest> {
  checkInner(json)
  const { root, notice, bad = 'fail' } = context
  const tokenizer = await openTokenizer({ path: json.tokenizer, special: 'parse' }, root, notice)
  const template = findTemplate(json.template ?? 'tokenizer', findTokenizer(json.tokenizer, root).path, root)
  const { indexed: _, ...rest } = context
  const inner = await nesting.open(json.source, { ...rest, wanted: [] })
  const source = nesting.attach(inner)
  if (source.count === 0) throw new SourceError('chat: there are no conversations')
  const setup = setupOf(json, inner, tokenizer, template)
  const { manifest: _manifest, tokenizer: _tokenizer, ...settings } = setup
  const made = [VERSION, tokenizer.hash, plain(settings), bad]
  const key = digest([KEPT, made, inner.fingerprint, inner.stamp ?? null])
  const kept = await obtain(key, source, setup, context, nesting)
  tell(json, source, kept, notice)
  const cut = { ...json, source: undefined, tokenizer: undefined, template: undefined }
  const contents = digest([made, inner.fingerprint.digest, inner.fingerprint.values ?? null, cut])
  const opened = json.pairs
    ? openPairs(json, inner, source, kept)
    : await openTokens(asTokens(json, kept, tokenizer), context)
  return {
    ...opened,
    fingerprint: {
      kind: 'chat',
      count: opened.fingerprint.count,
      digest: contents,
      ...(inner.fingerprint.parts && { parts: inner.fingerprint.parts }),
    },
    ...(inner.stamp !== undefined && { stamp: inner.stamp }),
  }
}

/** What is kept, or else made now. Of several processes that want it at once, one makes it. */
async function obtain(
  key: string,
  source: Source,
  setup: ChatSetup,
  context: OpenContext,
  { attach }: Nesting,
): Promise<KeptChat> {
  const path = keptPath(key)
  const found = context.check === 'nothing' ? undefined : readKept(path)
  if (found !== undefined) return found
  try {
    makeFolder(dirname(path))
  } catch (cause) {
    throw new SourceError(
      `can't keep tokenised conversations in ${dirname(path)}: ${(cause as Error).message}; set MILLRACE_CACHE to a folder that can be written`,
      { file: path, cause },
    )
  }
  const make = async () =>
    readKept(path) ?? (await prepareChat(path, source, setup, context, attach, threadsFor(setup)))
  return withLock(`${path}.lock`, make, { notice: context.notice, what: 'tokenises the same conversations' })
}

/** A plugin's source is known in this thread only. */
function threadsFor({ manifest }: ChatSetup): number | undefined {
  return isBuiltIn(manifest.kind) || ['named', 'pathed', 'valued'].includes(manifest.kind) ? undefined : 0
}

function setupOf(
  { train, contents = 'parse', now, variables = {}, pairs = false }: ChatJson,
  manifest: Manifest,
  tokenizer: OpenedTokenizer,
  { text, withTools, name, tokens }: FoundTemplate,
): ChatSetup {
  return {
    manifest,
    tokenizer,
    ...(text !== undefined && { template: text }),
    ...(withTools !== undefined && { withTools }),
    templateName: name,
    tokens,
    variables: JSON.stringify(variables),
    settings: { contents, ...(train && { train }), ...(now !== undefined && { now }) },
    pairs,
  }
}

/** Packed rows of the kept tokens. */
function asTokens(json: ChatJson, { bin, mask }: KeptChat, { eod, size }: OpenedTokenizer) {
  const { length, shift, ragged, documents, name, capacity, varlen, naming } = json
  return {
    path: bin,
    format: 'megatron' as const,
    mask,
    pack: json.pack ?? ('bestFit' as const),
    long: json.long ?? ('truncate' as const),
    vocabulary: size,
    name: name ?? 'chat',
    length,
    ...(eod !== undefined && { eod }),
    ...(shift && { shift }),
    ...(ragged && { ragged }),
    ...(documents && { documents }),
    ...(capacity !== undefined && { capacity }),
    ...(varlen && { varlen }),
    ...(naming && { naming }),
  }
}

/** Sources that make rows by code of the user's, or that are made of tokens already. */
function checkInner({ source }: ChatJson): void {
  for (const { source: found } of allSources(source)) {
    const name = nameOf(found)
    if (!['python', 'kernel', 'tokens', 'chat', 'synthetic'].includes(name)) continue
    throw new DefinitionError(
      'source.chat.source',
      `conversations can't come from a source of the kind ${name}: write them as JSON lines, Arrow or Parquet`,
    )
  }
}

/** What the user should know of the conversations, each time that they are opened. */
function tell(
  { contents = 'parse', pairs }: ChatJson,
  source: Source,
  { tokens, trained, dropped, examples, named }: KeptChat,
  notice: OpenContext['notice'],
): void {
  if (dropped > 0)
    notice?.(
      `chat: ${dropped} of ${source.count} conversations are left out: ${examples.join('; ')}${dropped > examples.length ? '; …' : ''}`,
    )
  if (dropped === source.count)
    throw new SourceError(`chat: all ${dropped} conversations are bad: ${examples[0]}`)
  if (trained === 0 && !pairs)
    throw new SourceError(
      `chat: none of ${tokens} tokens is trained on: "train" says which part of a conversation is`,
    )
  if (named > 0 && contents === 'parse')
    notice?.(
      `chat: ${named} of ${source.count} conversations have names of special tokens in their contents, which become these tokens; ` +
        '"contents": "text" keeps them text',
    )
}

/** Maps as lists, for JSON. */
function plain(settings: Omit<ChatSetup, 'manifest' | 'tokenizer'>): unknown {
  const { templateName: _, tokens, ...others } = settings
  return { ...others, tokens: [...tokens] }
}

/** Pairs of the kept tokens: those that are not left out, and that fit. */
function openPairs(json: ChatJson, inner: Manifest, source: Source, kept: KeptChat): PairsManifest {
  const { length, long = 'truncate', naming } = json
  const index = readFileSync(kept.idx)
  const lengths = new Uint32Array(PARTS * source.count)
  for (let i = 0; i < lengths.length; i++) lengths[i] = index.readUInt32LE(INDEX_HEADER + 4 * i)
  const rows: number[] = []
  for (let row = 0; row < source.count; row++) {
    const [prompt, chosen, rejected] = lengths.subarray(PARTS * row, PARTS * (row + 1))
    if (chosen + rejected === 0) continue
    const longest = prompt + Math.max(chosen, rejected)
    // What is cut to its prompt alone has nothing to prefer.
    if (longest > length && (long === 'drop' || prompt >= length)) continue
    rows.push(row)
  }
  if (rows.length === 0)
    throw new SourceError(
      `chat: none of ${source.count} pairs fits into a length of ${length}: raise "length"`,
    )
  const starts = new Float64Array(new SharedArrayBuffer(8 * (lengths.length + 1)))
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i] + lengths[i]
  const kept_ = new Uint32Array(new SharedArrayBuffer(4 * rows.length))
  kept_.set(rows)
  const { size, mtimeMs } = statSync(kept.bin)
  return {
    kind: 'chat',
    fingerprint: { kind: 'chat', count: rows.length, digest: '' },
    indexBytes: starts.byteLength + kept_.byteLength + inner.indexBytes,
    inner,
    file: { path: kept.bin, version: { size, mtimeMs } },
    bytes: index[17] === DTYPE_CODES.u16 ? 2 : 4,
    starts,
    rows: kept_,
    length,
    ...(naming && { naming }),
  }
}
