/** Rows of token files. */
import { tokens as shape } from '../../core/define/check/tokens/source.js'
import type { Format } from '../../core/define/format.js'
import type { TokensJson } from '../../core/define/token-types.js'
import type { PathsJson } from '../../core/define/types.js'
import type { TokensManifest } from './tokens-source.js'

/**
 * Files of tokens (Megatron-LM, nanoGPT, llm.c, .npy, OLMo) as rows of a fixed length: `tokens('corpus-*.bin', { length: 2048 })`.
 * The feed has `input` and `target`, unless it names other columns.
 */
export const tokens = <const Options extends Omit<TokensJson, 'path'>>(
  path: PathsJson,
  options: Options,
): { tokens: Options & { path: PathsJson } } => ({ tokens: { ...options, path } })

export const tokensFormat: Format<TokensJson> = {
  name: 'tokens',
  says: 'Files of tokens (Megatron-LM, nanoGPT, llm.c, NumPy, OLMo) as rows of a fixed length.',
  example: { path: 'corpus-*.bin', length: 2048, pack: 'bestFit' },
  shape,
  facts: { selectsByIndex: true, untitled: true },
  async load() {
    const { TokensSource } = await import('./tokens-source.js')
    return {
      open: async (json, context) => (await import('./open.js')).openTokens(json, context),
      list: async (...of) => (await import('./list.js')).readTokenList(...of),
      attach: manifest => new TokensSource(manifest as TokensManifest),
    }
  },
}
