/**
 * All kinds of sources, by the names they have in a definition: opens them, and attaches them in any thread. A new kind has
 * a file of its own, a type in define/types.ts, and one line here; the compiler asks for the others.
 */

import { arrow } from '../../formats/arrow/arrow.js'
import { files } from '../../formats/files/files.js'
import { folder } from '../../formats/files/folder.js'
import { hdf5 } from '../../formats/hdf5/hdf5.js'
import { csv, jsonl, text } from '../../formats/lines/lines.js'
import { litdata } from '../../formats/litdata/litdata.js'
import { mds } from '../../formats/mds/mds.js'
import { npy } from '../../formats/npy/npy.js'
import { npz } from '../../formats/npz/npz.js'
import { parquet } from '../../formats/parquet/parquet.js'
import { pathed } from '../../formats/pathed/pathed.js'
import { safetensors } from '../../formats/safetensors/safetensors.js'
import { tar } from '../../formats/tar/tar.js'
import { tfrecord } from '../../formats/tfrecord/tfrecord.js'
import { zarr } from '../../formats/zarr/zarr.js'
import { chat } from '../../llm/conversations/chat.js'
import { tokens } from '../../llm/tokens/tokens.js'
import { nearest, SourceError } from '../basics/errors.js'
import { COMBINATORS, type SourceName } from '../define/nested.js'
import type { SourceJson } from '../define/types.js'
import { type OpenedSources, openBlend } from './combine/blend.js'
import { concat } from './combine/concat.js'
import { named } from './combine/named.js'
import { split } from './combine/split.js'
import { subset } from './combine/subset.js'
import { zip } from './combine/zip.js'
import { kernel } from './made/kernel.js'
import { python } from './made/python.js'
import { synthetic } from './made/synthetic.js'
import type { Manifest, Nesting, OpenContext, Source, SourceKind } from './source.js'
import { valued } from './values/valued.js'

const KINDS: Readonly<
  Record<Exclude<SourceName, 'blend'> | 'named' | 'pathed' | 'valued', SourceKind<never>>
> = {
  tar,
  folder,
  files,
  zarr,
  npy,
  npz,
  safetensors,
  synthetic,
  python,
  kernel,
  arrow,
  csv,
  parquet,
  jsonl,
  text,
  hdf5,
  netcdf4: hdf5,
  concat,
  zip,
  subset,
  split,
  named,
  litdata,
  mds,
  tfrecord,
  tokens,
  chat,
  pathed,
  valued,
}

/** Those of plugins that this thread has loaded. */
const plugged = new Map<string, SourceKind<never>>()

/** Adds a plugin's kind of source, in this thread (plugins.ts). */
export function addSource(name: string, kind: SourceKind<never>): void {
  plugged.set(name, kind)
}

/** Whether there is a kind of source of this name. */
export function hasSource(name: string): boolean {
  return Object.hasOwn(KINDS, name) || name === 'blend' || plugged.has(name)
}

/**
 * Sources whose columns are not read to select by them: those made of others, which ask these; those whose index has all that is
 * small; and those that make their samples.
 */
const WITHOUT_VALUES: ReadonlySet<string> = new Set([
  ...COMBINATORS,
  'folder',
  'files',
  'tar',
  'synthetic',
  'kernel',
  'python',
  'tokens',
])

const nesting: Nesting = { open: openSource, attach: attachSource }

/** Opens a source: finds its files, builds its index if need be. Runs once, in the main thread. */
export async function openSource(json: SourceJson, context: OpenContext): Promise<Manifest> {
  if ('blend' in json) {
    throw new SourceError('a blend can only be the outermost source: put the other sources into its entries')
  }
  const [[name, inner]] = Object.entries(json)
  const opened = await kind(name).open(inner as never, context, nesting)
  const manifest = name === 'parquet' || name === 'arrow' ? await withPaths(inner, opened, context) : opened
  const { indexed = [] } = context
  if (indexed.length === 0 || WITHOUT_VALUES.has(name)) return manifest
  const { withValues } = await import('./values/open.js')
  return withValues(inner, manifest, attachSource(manifest), indexed, context)
}

/** A table whose wanted pictures may lie in files that it names. */
async function withPaths(json: unknown, manifest: Manifest, context: OpenContext): Promise<Manifest> {
  const source = attachSource(manifest)
  if (!context.wanted.some(name => source.columns.includes(`${name}.path`))) return manifest
  const [{ withFiles }, { withValues }] = await Promise.all([
    import('../../formats/pathed/open.js'),
    import('./values/open.js'),
  ])
  return withFiles(json, manifest, source, context, async name => {
    const valued = await withValues(json, manifest, source, [name], context)
    return attachSource(valued).index(name)
  })
}

/** Makes a source from its manifest, in any thread. */
export function attachSource(manifest: Manifest): Source {
  return kind(manifest.kind).attach(manifest, nesting)
}

/** Opens what a feed names as its source: one source, or the entries of a blend. */
export async function openSources(json: SourceJson, context: OpenContext): Promise<OpenedSources> {
  if ('blend' in json) return openBlend(json.blend, context, nesting)
  const manifest = await openSource(json, context)
  return { sources: [{ manifest }], fingerprint: manifest.fingerprint }
}

function kind(name: string): SourceKind<never> {
  if (Object.hasOwn(KINDS, name)) return KINDS[name as keyof typeof KINDS]
  const own = plugged.get(name)
  if (own !== undefined) return own
  const near = nearest(name, [...Object.keys(KINDS), ...plugged.keys()])
  const hint = near ? `did you mean "${near}"?` : 'if a plugin has it, load that: --plugin URL'
  throw new SourceError(`there is no source "${name}"; ${hint}`)
}
