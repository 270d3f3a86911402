/** MDS, the format of Mosaic's streaming, as a kind of source. What opens it is loaded when a feed is opened. */
import type { MdsJson, PathsJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type MdsManifest, MdsSource } from './mds-source.js'

export const mds: SourceKind<PathsJson | MdsJson> = {
  open: async (json, context) => (await import('./open.js')).openMds(json, context),
  attach: manifest => new MdsSource(manifest as MdsManifest),
}
