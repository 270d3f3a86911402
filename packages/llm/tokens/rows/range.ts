/** The bytes of some tokens of a file. */
import type { ByteRange } from '../../../core/store/store.js'
import { TOKEN_BYTES, type TokenFile } from '../formats/token-file.js'

export function rangeOf(
  { path, begin, dtype, version }: TokenFile,
  offset: number,
  tokens: number,
): ByteRange {
  const bytes = TOKEN_BYTES[dtype]
  return { file: path, offset: begin + offset * bytes, length: tokens * bytes, was: version }
}
