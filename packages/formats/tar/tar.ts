/**
 * Tar shards in WebDataset's form, as a kind of source. What finds and indexes shards (tar/open.ts) is loaded when a feed is
 * opened: workers attach to what was found, and start sooner without it.
 */
import type { TarJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type TarManifest, TarSource } from './tar-source.js'

export const tar: SourceKind<TarJson> = {
  open: async (json, context) => (await import('./open.js')).openTar(json, context),
  attach: manifest => new TarSource(manifest as TarManifest),
}
