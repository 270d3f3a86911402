/** LitData's chunks, as a kind of source. What opens them is loaded when a feed is opened. */
import type { LitdataJson, PathsJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type LitdataManifest, LitdataSource } from './litdata-source.js'

export const litdata: SourceKind<PathsJson | LitdataJson> = {
  open: async (json, context) => (await import('./open.js')).openLitdata(json, context),
  attach: manifest => new LitdataSource(manifest as LitdataManifest),
}
