/**
 * Arrow files and streams, and folders of Hugging Face's datasets, as a kind of source. What finds and indexes them
 * (arrow/open.ts) is loaded when a feed is opened: workers attach to what was found, and start sooner without it.
 */
import type { ArrowJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type ArrowManifest, ArrowSource } from './arrow-source.js'

export const arrow: SourceKind<ArrowJson> = {
  open: async (json, context) => (await import('./open.js')).openArrow(json, context),
  attach: manifest => new ArrowSource(manifest as ArrowManifest),
}
