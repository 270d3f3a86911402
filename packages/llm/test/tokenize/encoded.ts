/** The tokens of a text, as a list. */
import type { Tokenizer } from '../../tokenize/tokenizer.js'

export function encoded(tokenizer: Tokenizer, text: string | Uint8Array): number[] {
  const bytes = Buffer.from(text as string)
  const out = new Uint32Array(tokenizer.room(bytes.length))
  return Array.from(out.subarray(0, tokenizer.encode(bytes, out, 0)))
}
