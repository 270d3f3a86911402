/** Which token ends a document: the `eos_token` of the tokenizer_config.json beside the tokenizer, otherwise one of the usual names. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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

export function endOfDocument(added: ReadonlyMap<string, number>, file: string): number | undefined {
  const names = [...configured(join(dirname(file), 'tokenizer_config.json')), ...NAMES]
  for (const name of names) {
    const id = added.get(name)
    if (id !== undefined) return id
  }
  return undefined
}

/** The `eos_token` of a tokenizer_config.json: a text, or an object with its `content`. */
function configured(path: string): string[] {
  let config: { eos_token?: unknown } | null
  try {
    config = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return []
  }
  const token = config?.eos_token
  const name = typeof token === 'object' && token !== null && 'content' in token ? token.content : token
  return typeof name === 'string' ? [name] : []
}
