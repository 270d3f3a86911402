/** Conversations as rows of tokens, as a kind of source. They are tokenised when a feed is opened; packed rows are those of `tokens`. */
import type { ChatJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type PairsManifest, PairsSource } from './pairs-source.js'

export const chat: SourceKind<ChatJson> = {
  open: async (json, context, nesting) => (await import('./open.js')).openChat(json, context, nesting),
  attach: (manifest, { attach }) => new PairsSource(manifest as PairsManifest, attach),
}
