/** Reads tokens of a file, whatever their type, as numbers of 32 bits. */

import { readRange } from '../../../core/store/access.js'
import type { Stores } from '../../../core/store/stores.js'
import { TOKEN_BYTES, type TokenFile } from '../../tokens/formats/token-file.js'

/** Tokens that are read at once. */
export const PIECE = 1 << 20

/** What a token becomes that has more than 32 bits, or is below 0: no vocabulary is as large. */
export const NO_TOKEN = 2 ** 32 - 1

export class TokenReader {
  private readonly bytes: Buffer
  private readonly tokens = new Uint32Array(PIECE)

  constructor(
    private readonly file: TokenFile,
    private readonly stores: Stores,
  ) {
    this.bytes = Buffer.allocUnsafeSlow(PIECE * TOKEN_BYTES[file.dtype])
  }

  /** Up to PIECE tokens from a place on. They are good until the next call. */
  async read(from: number, count: number): Promise<Uint32Array> {
    const { dtype, path, begin, version: was } = this.file
    const item = TOKEN_BYTES[dtype]
    const into = this.bytes.subarray(0, item * count)
    if (count > 0)
      await readRange(
        this.stores,
        { file: path, offset: begin + item * from, length: into.length, was },
        into,
      )
    const buffer = this.bytes.buffer as ArrayBuffer
    const { tokens } = this
    if (dtype === 'u8') tokens.set(new Uint8Array(buffer, 0, count))
    else if (dtype === 'u16') tokens.set(new Uint16Array(buffer, 0, count))
    else if (dtype === 'u32') tokens.set(new Uint32Array(buffer, 0, count))
    else if (dtype === 'i32') copySigned(new Int32Array(buffer, 0, count), tokens)
    else copyWide(new Uint32Array(buffer, 0, 2 * count), tokens)
    return tokens.subarray(0, count)
  }
}

function copySigned(from: Int32Array, to: Uint32Array): void {
  for (let i = 0; i < from.length; i++) to[i] = from[i] < 0 ? NO_TOKEN : from[i]
}

function copyWide(words: Uint32Array, to: Uint32Array): void {
  for (let i = 0; 2 * i < words.length; i++) to[i] = words[2 * i + 1] === 0 ? words[2 * i] : NO_TOKEN
}
