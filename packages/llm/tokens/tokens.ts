/** Rows of token files, as a kind of source. What opens them is loaded when a feed is opened. */
import type { TokensJson } from '../../core/define/token-types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type TokensManifest, TokensSource } from './tokens-source.js'

export const tokens: SourceKind<TokensJson> = {
  open: async (json, context) => (await import('./open.js')).openTokens(json, context),
  list: async (...of) => (await import('./list.js')).readTokenList(...of),
  attach: manifest => new TokensSource(manifest as TokensManifest),
}
