/** Opens sources by the names that they have in a definition, and attaches them in any thread. */
import { formatCalled, loadedKind, loadKind } from '../define/format.js'
import type { SourceJson } from '../define/types.js'
import { type OpenedSources, openBlend } from './combine/blend.js'
import type { Manifest, Nesting, OpenContext, Source } from './source.js'

const nesting: Nesting = { open: openSource, attach: attachSource }

/** Opens a source: finds its files, builds its index if need be. Runs once, in the main thread. */
export async function openSource(json: SourceJson, context: OpenContext): Promise<Manifest> {
  const [[name, inner]] = Object.entries(json)
  const kind = await loadKind(name)
  const manifest = await kind.open(inner as never, context, nesting)
  // A kind may return another one's manifest: rows of LitData that are kept as Arrow, a table whose pictures lie in files.
  await loadKinds([manifest])
  const { indexed = [] } = context
  if (indexed.length === 0 || formatCalled(name)?.facts?.selectsByIndex) return manifest
  const { withValues } = await import('./values/open.js')
  return withValues(inner, manifest, attachSource(manifest), indexed, context)
}

/** The files in which the samples of a source lie, where its format tells them without opening it. */
export async function shardsOf(json: SourceJson, root: string): Promise<string[] | undefined> {
  const [[name, inner]] = Object.entries(json)
  return (await loadKind(name)).shards?.(inner as never, root)
}

/** Makes a source from its manifest, in a thread that has opened it or has called `loadKinds`. */
export function attachSource(manifest: Manifest): Source {
  return loadedKind(manifest.kind).attach(manifest, nesting)
}

/** Loads what attaches these manifests and those within them. */
export async function loadKinds(manifests: Iterable<Manifest>): Promise<void> {
  for (const manifest of manifests) {
    await loadKind(manifest.kind)
    await loadKinds(Object.values(manifest).flatMap(manifestsIn))
  }
}

/** A manifest, or a list of them: what a manifest has below a key. */
function manifestsIn(value: unknown): Manifest[] {
  if (Array.isArray(value)) return isManifest(value[0]) ? (value as Manifest[]) : []
  return isManifest(value) ? [value] : []
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && 'kind' in value && 'fingerprint' in value
}

/** Opens what a feed names as its source: one source, or the entries of a blend. */
export async function openSources(json: SourceJson, context: OpenContext): Promise<OpenedSources> {
  if ('blend' in json) return openBlend(json.blend, context, nesting)
  const manifest = await openSource(json, context)
  return { sources: [{ manifest }], fingerprint: manifest.fingerprint }
}
