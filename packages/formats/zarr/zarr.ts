/** Zarr arrays, as a kind of source. What reads metadata and lists chunks (open.ts) is loaded when a feed is opened. */
import type { ZarrJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type ZarrManifest, ZarrSource } from './zarr-source.js'

export const zarr: SourceKind<ZarrJson> = {
  open: async (json, context) => (await import('./open.js')).openZarr(json, context),
  attach: manifest => new ZarrSource(manifest as ZarrManifest),
}
