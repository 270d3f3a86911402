/** Which token ends a document: the `eos_token` of the tokenizer_config.json beside the tokenizer, otherwise one of the usual names. */
import type { TokenizerConfig } from './find.js'

/** The first that the vocabulary has is it. */
const NAMES = [
  '<|endoftext|>',
  '<|end_of_text|>',
  '</s>',
  '<eos>',
  '<|end▁of▁sentence|>',
  '<|im_end|>',
  '<|eot_id|>',
  '<|end|>',
]

export function endOfDocument(
  added: ReadonlyMap<string, number>,
  config: TokenizerConfig = {},
): number | undefined {
  const names = [...configured(config), ...NAMES]
  for (const name of names) {
    const id = added.get(name)
    if (id !== undefined) return id
  }
  return undefined
}

/** The `eos_token`: a text, or an object with its `content`. */
function configured({ eos_token: token }: TokenizerConfig): string[] {
  const name = typeof token === 'object' && token !== null && 'content' in token ? token.content : token
  return typeof name === 'string' ? [name] : []
}
