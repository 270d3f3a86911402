/** Goes through tokens and finds the documents by the token that ends, or begins, each. */
import type { IndexTools } from '../../../../core/source/index/of-file.js'
import { TOKEN_BYTES, type TokenDtype } from '../token-file.js'
import type { BordersBuilder } from './builder.js'
import type { BordersFile } from './contract.js'

/** Bytes that are read at once: a multiple of all sizes of tokens. */
const PIECE = 4 << 20

export async function scanTokens(
  { tokens: file, bytes, marks }: BordersFile,
  out: BordersBuilder,
  { read, progress, notice }: IndexTools,
): Promise<void> {
  const { eod, eodAt } = marks as NonNullable<typeof marks>
  const item = TOKEN_BYTES[file.dtype]
  const buffer = Buffer.allocUnsafeSlow(PIECE)
  let start = 0
  let found = 0
  for (let at = file.begin; at < bytes; at += PIECE) {
    const got = await read(buffer.subarray(0, Math.min(PIECE, bytes - at)), at)
    const first = (at - file.begin) / item
    const next = finder(buffer, Math.floor(got / item), file.dtype, eod)
    for (let i = next(0); i >= 0; i = next(i + 1)) {
      found++
      const end = first + i + (eodAt === 'end' ? 1 : 0)
      if (eodAt === 'start' && end === 0) continue
      out.add(start, end)
      start = end
    }
    progress?.(at + got)
  }
  // The last one may lack its mark; where marks come first, none follows it.
  if (start < file.tokens) out.add(start, file.tokens)
  if (found === 0 && file.tokens > 0)
    notice?.(`${file.path} has no token ${eod}, so all of it is one document: is "eod" right?`)
}

/** Finds the next place of a token among `count` tokens; −1: there is none. */
function finder(bytes: Buffer, count: number, dtype: TokenDtype, token: number): (from: number) => number {
  const { byteOffset } = bytes
  const buffer = bytes.buffer as ArrayBuffer
  if (dtype === 'i64') {
    const words = new Uint32Array(buffer, byteOffset, 2 * count)
    const low = token % 2 ** 32
    const high = Math.floor(token / 2 ** 32)
    return from => {
      let at = words.indexOf(low, 2 * from)
      while (at >= 0 && (at % 2 === 1 || words[at + 1] !== high)) at = words.indexOf(low, at + 1)
      return at < 0 ? -1 : at / 2
    }
  }
  const Type = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array }[dtype]
  const array = new Type(buffer, byteOffset, count)
  return from => array.indexOf(token, from)
}
