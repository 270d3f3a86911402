/**
 * Opens a blend: each of its entries becomes a source with a name. The blend itself is not a source. The order decides
 * from which entry a position draws.
 */

import { nearest, SourceError } from '../../basics/errors.js'
import type { BlendJson } from '../../define/types.js'
import type { Fingerprint, Manifest, Nesting, OpenContext } from '../source.js'
import { combinedFingerprint } from './combined.js'
import type { NamedManifest } from './named.js'

/** The sources of a feed: one, or those of its blend, which the order draws from by weight. */
export interface OpenedSources {
  sources: { manifest: Manifest; name?: string }[]
  /** Of all of them together. */
  fingerprint: Fingerprint
  blend?: { entries: { weight: number; name: string }[]; per: 'sample' | 'batch'; epoch?: number }
}

/** Opens all entries of a blend. */
export async function openBlend(
  json: BlendJson,
  context: OpenContext,
  nesting: Nesting,
): Promise<OpenedSources> {
  const entries = json.entries.map(({ name, weight }, i) => ({ name: name ?? String(i), weight }))
  const sources: OpenedSources['sources'] = []
  for (const [i, { source, rename = {} }] of json.entries.entries()) {
    const back = new Map(Object.entries(rename).map(([from, to]) => [to, from]))
    const wanted = context.wanted.map(column => back.get(column) ?? column)
    const most = Object.fromEntries(
      Object.entries(context.most ?? {}).map(([column, bytes]) => [back.get(column) ?? column, bytes]),
    )
    const indexed = context.indexed?.map(column => back.get(column) ?? column)
    const child = await nesting.open(source, { ...context, wanted, indexed, most })
    checkNames(entries[i].name, rename, nesting.attach(child).columns)
    const { fingerprint, indexBytes } = child
    const manifest: NamedManifest = {
      kind: 'named',
      fingerprint,
      indexBytes,
      name: entries[i].name,
      rename,
      child,
    }
    sources.push({ manifest, name: entries[i].name })
  }
  const prints = sources.map(({ manifest }) => manifest.fingerprint)
  const count = prints.reduce((sum, print) => sum + print.count, 0)
  const per = json.per ?? 'sample'
  const fingerprint = combinedFingerprint(
    'blend',
    count,
    entries.map(entry => entry.name),
    prints,
  )
  return { sources, fingerprint, blend: { entries, per, ...(json.epoch && { epoch: json.epoch }) } }
}

function checkNames(
  name: string,
  rename: Readonly<Record<string, string>>,
  columns: readonly string[],
): void {
  for (const from of Object.keys(rename)) {
    if (columns.includes(from)) continue
    const near = nearest(from, columns)
    const hint = near ? `did you mean "${near}"?` : `it has ${columns.join(', ')}`
    throw new SourceError(`blend: source "${name}" has no column "${from}" to rename; ${hint}`)
  }
}
