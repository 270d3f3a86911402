/** Tokens on their way to a file: checked, made as narrow as the file's are, and written in large pieces. */
import { SourceError } from '../../../../core/basics/errors.js'
import type { Draft } from '../../../../core/system/files/draft.js'
import { TOKEN_BYTES, type TokenDtype } from '../../../tokens/formats/token-file.js'

/** Tokens that are written at once. */
const PIECE = 1 << 18

export class TokenStream {
  tokens = 0
  private readonly bytes: Uint8Array
  private readonly array: Uint8Array | Uint16Array | Uint32Array
  /** Words of the array that a token takes: an i64 is two of 32 bits. */
  private readonly words: number
  private filled = 0
  /** Tokens from here on are refused. */
  private readonly limit: number

  constructor(
    private readonly draft: Draft,
    private readonly dtype: TokenDtype,
    private readonly vocabulary = Infinity,
  ) {
    const item = TOKEN_BYTES[dtype]
    const Type = { 1: Uint8Array, 2: Uint16Array }[item] ?? Uint32Array
    this.words = item === 8 ? 2 : 1
    this.array = new Type(PIECE * this.words)
    this.bytes = new Uint8Array(this.array.buffer)
    this.limit = Math.min(vocabulary, limitOf(dtype))
  }

  /** `document` and `before` (tokens of it that came before) are for messages. */
  add(tokens: Uint32Array, from: number, to: number, document: number, before: number): void {
    const { array, limit, words } = this
    for (let at = from; at < to; ) {
      const end = Math.min(to, at + PIECE - this.filled)
      let place = this.filled
      this.filled += end - at
      if (words === 1) {
        for (; at < end; at++, place++) {
          const token = tokens[at]
          if (token >= limit) throw this.refused(token, document, before + at - from)
          array[place] = token
        }
      } else {
        for (; at < end; at++, place++) {
          if (tokens[at] >= limit) throw this.refused(tokens[at], document, before + at - from)
          array[2 * place] = tokens[at]
        }
      }
      if (this.filled === PIECE) this.flush()
    }
    this.tokens += to - from
  }

  flush(): void {
    this.draft.write(this.bytes.subarray(0, this.filled * TOKEN_BYTES[this.dtype]))
    this.filled = 0
  }

  private refused(token: number, document: number, place: number): SourceError {
    const beyond =
      token < this.vocabulary
        ? `more than tokens of type ${this.dtype} can be: write them as ${token < 2 ** 31 ? 'i32 or ' : ''}u32`
        : `but the vocabulary has ${this.vocabulary} tokens: it is that of another tokenizer`
    const path = this.draft.path
    return new SourceError(`${path}: token ${place} of document ${document} is ${token}, ${beyond}`, {
      file: path,
    })
  }
}

/** The least number that a type does not hold, or 2^32: tokens are no more than that. */
export function limitOf(dtype: TokenDtype): number {
  return { u8: 2 ** 8, u16: 2 ** 16, u32: 2 ** 32, i32: 2 ** 31, i64: 2 ** 32 }[dtype]
}
