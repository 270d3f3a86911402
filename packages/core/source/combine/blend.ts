/**
 * Opens a blend: each of its entries becomes a source with a name. The blend itself is not a source. The order decides
 * from which entry a position draws.
 */

import { DefinitionError, SourceError } from '../../basics/errors.js'
import { normalized } from '../../basics/numpy.js'
import { epochsByCorpus } from '../../define/check/combine/blend.js'
import { loadKind } from '../../define/format.js'
import type { BlendJson, SourceJson } from '../../define/types.js'
import type { Fingerprint, Manifest, Nesting, OpenContext } from '../source.js'
import { combinedFingerprint } from './combined.js'
import { checkNames, contextBelow, type NamedManifest } from './named.js'

/** One source of a blend that was opened. */
export interface OpenedEntry {
  /** Undefined: by `epochs`, or as Megatron has it, by its rows. */
  weight?: number
  /** How often it is seen in an epoch of the blend. */
  epochs?: number
  /** With which its weight can be changed. */
  name: string
  /** Entries of one corpus are joined first. */
  corpus?: string
  /** Tokens that train in a row, on average; undefined where rows are no tokens. */
  fill?: number
}

export interface OpenedBlend
  extends Omit<BlendJson, 'entries' | 'list' | 'root' | 'tokens' | 'epochs' | 'per'> {
  entries: OpenedEntry[]
  per: 'sample' | 'batch'
}

/** The sources of a feed: one, or those of its blend, which the order draws from by weight. */
export interface OpenedSources {
  sources: { manifest: Manifest; name?: string }[]
  /** Of all of them together. */
  fingerprint: Fingerprint
  blend?: OpenedBlend
}

/** An entry as it is written, or as a line of a list has it. */
interface Entry extends OpenedEntry {
  source: SourceJson
  rename?: Record<string, string>
  /** What ids begin with. The column `source` has the corpus, or else this. */
  shown: string
  /** Where it stands in the list, for messages. */
  where?: string
}

/** Opens all entries of a blend. */
export async function openBlend(
  json: BlendJson,
  context: OpenContext,
  nesting: Nesting,
): Promise<OpenedSources> {
  const entries = json.list === undefined ? written(json) : await listed(json, json.list, context)
  const few = context.notice && new FewNotices(context.notice)
  const contexts = await megatronContexts(entries, context)
  const sources: OpenedSources['sources'] = []
  const opened: OpenedEntry[] = []
  for (const [i, { source, rename = {}, shown, where, ...entry }] of entries.entries()) {
    const { corpus } = entry
    const manifest = await openEntry(
      { source, rename, shown, corpus, where },
      {
        ...(contexts?.[i] ?? context),
        ...(few && { notice: few.of(entry.name) }),
      },
      nesting,
    )
    sources.push({ manifest, name: entry.name })
    const { trained, fingerprint } = manifest.child
    opened.push({ ...entry, ...(trained !== undefined && { fill: trained / fingerprint.count }) })
  }
  few?.end()
  const { list, tokens: _, entries: __, epochs: ___, root: ____, per = 'sample', ...rules } = json
  if (rules.by === 'tokens') checkFills(opened)
  const prints = sources.map(({ manifest }) => manifest.fingerprint)
  const count = prints.reduce((sum, print) => sum + print.count, 0)
  // What a list says is no part of the definition, so it is part of the contents.
  const parameters =
    list === undefined
      ? opened.map(({ name }) => name)
      : opened.map(({ name, corpus, weight, epochs }) => [name, corpus, weight, epochs])
  return {
    sources,
    fingerprint: combinedFingerprint('blend', count, parameters, prints),
    blend: { ...rules, entries: opened, per },
  }
}

function written({ entries }: BlendJson): Entry[] {
  return entries!.map(({ source, weight, epochs, corpus, rename, ...entry }, i) => {
    const name = entry.name ?? String(i)
    return {
      source,
      name,
      shown: name,
      ...(weight !== undefined && { weight }),
      ...(epochs !== undefined && { epochs }),
      ...(corpus !== undefined && { corpus }),
      ...(rename && { rename }),
    }
  })
}

/** The files of a list: entries of their corpora, which are all sources of tokens alike. */
async function listed(json: BlendJson, list: string, { root }: OpenContext): Promise<Entry[]> {
  const { list: read } = await loadKind('tokens')
  const files = await read!(list, root, json.root)
  const corpora = [...new Set(files.map(({ corpus }) => corpus))]
  const epochs = json.epochs && epochsByCorpus(json.epochs, corpora)
  return files.map(({ line, prefix, corpus, name, weight }) => ({
    source: { tokens: { ...json.tokens!, path: prefix, name } },
    name: `${corpus}/${name}`,
    corpus,
    shown: corpus,
    where: `${list}, line ${line}`,
    ...(epochs === undefined ? { weight } : { epochs: epochs.get(corpus)! }),
  }))
}

async function openEntry(
  entry: Pick<Entry, 'source' | 'shown' | 'corpus' | 'where'> & Required<Pick<Entry, 'rename'>>,
  context: OpenContext,
  nesting: Nesting,
): Promise<NamedManifest> {
  const { source, rename, shown, corpus, where } = entry
  const child = await nesting.open(source, contextBelow(context, rename)).catch(error => {
    if (where === undefined || !(error instanceof SourceError)) throw error
    throw new SourceError(`${where}: ${error.message}`, { file: error.file, cause: error })
  })
  checkNames(`blend: source "${shown}"`, rename, nesting.attach(child))
  const { fingerprint, indexBytes } = child
  return {
    kind: 'named',
    fingerprint,
    indexBytes,
    name: shown,
    rename,
    child,
    ...(corpus !== undefined && { corpus }),
  }
}

/** Megatron builds of each source the weighed part of all samples, rounded up, and a surplus of it, rounded up. */
async function megatronContexts(
  entries: readonly Entry[],
  context: OpenContext,
): Promise<OpenContext[] | undefined> {
  const { megatron } = context
  if (megatron === undefined) return undefined
  const { samples, surplus } = megatron
  const weights = entries.flatMap(({ weight }) => (weight === undefined ? [] : [weight]))
  const sizes =
    weights.length === 0 || samples === undefined
      ? undefined
      : normalized(weights).map(weight => Math.ceil(Math.ceil(samples * weight) * (1 + surplus)))
  const zero = weights.indexOf(0)
  if (zero >= 0)
    throw new SourceError(
      `${entries[zero].where ?? entries[zero].name}: a weight of 0 is refused by Megatron, and so by its order here: leave the file out`,
    )
  return entries.map((_, i) => ({ ...context, megatron: { ...megatron, samples: sizes?.[i] } }))
}

function checkFills(entries: readonly OpenedEntry[]): void {
  const without = entries.find(({ fill }) => fill === undefined)
  if (without !== undefined)
    throw new DefinitionError(
      'source.blend.by',
      `"tokens" goes with sources of tokens alone, and "${without.name}" is none`,
    )
}

/** Notices of many sources that say the same of each: the first are told, the others counted. */

/** As many of a kind are told. */
const TOLD = 3

class FewNotices {
  private readonly counts = new Map<string, number>()

  constructor(private readonly tell: (text: string) => void) {}

  /** What tells the notices of one source. Texts that differ in numbers and paths only are of one kind. */
  of(source: string): (text: string) => void {
    return text => this.notice(text, source)
  }

  private notice(text: string, source: string): void {
    const kind = text.replace(/\/\S+|[\d.,]+/g, '…')
    const count = (this.counts.get(kind) ?? 0) + 1
    this.counts.set(kind, count)
    if (count <= TOLD) this.tell(`${text} (entry "${source}" of the blend)`)
  }

  /** Says how many were not told. */
  end(): void {
    for (const [kind, count] of this.counts)
      if (count > TOLD)
        this.tell(`the same of ${count - TOLD} more sources of the blend: "${kind.slice(0, 60)}…"`)
  }
}
