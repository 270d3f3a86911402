/** Scans for documents: tokens for the one that ends, or begins, each; OLMo's .csv.gz; an .idx in another store. */

import { SourceError } from '../../../../core/basics/errors.js'
import type { IndexTools } from '../../../../core/source/index/of-file.js'
import { scanPacked } from '../../../../formats/packed/scan.js'
import { TOKEN_BYTES, type TokenDtype } from '../token-file.js'
import type { BordersBuilder, BordersFile } from './contract.js'
import { goThroughIndex } from './indexed.js'

/** Bytes that are read at once: a multiple of all sizes of tokens. */
const PIECE = 4 << 20

/** Documents by the token that marks them. */
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

/** Bytes of a line at most: behind the two numbers stand an id and a path. */
const MOST_LINE = 1 << 20

/** Documents as OLMo's tools write them: a .csv.gz with a line for each, `start,end,…`, in tokens. */
export async function scanCsv(data: BordersFile, out: BordersBuilder, tools: IndexTools): Promise<void> {
  const { file, tokens } = data
  const refuse = (problem: string): SourceError =>
    new SourceError(`${file}: line ${line}: ${problem}`, { file })
  let line = 1
  let last = 0
  let rest = ''
  const take = (text: string): void => {
    const [, from, to] = /^(\d{1,15}),(\d{1,15})(?:,|\r?$)/.exec(text) ?? []
    if (from === undefined)
      throw refuse(`"${text.slice(0, 60)}" does not begin with two numbers, start and end: "0,512,…"`)
    const [start, end] = [Number(from), Number(to)]
    if (start < last || end < start)
      throw refuse(
        `a document from token ${start} to ${end}, but the one before it ends at ${last}: documents follow one another`,
      )
    if (end > tokens.tokens)
      throw refuse(
        `a document that ends at token ${end}, but ${tokens.path} has ${tokens.tokens}: they don't belong together`,
      )
    out.add(start, end)
    last = end
  }
  await scanPacked(data, 'gzip', tools, piece => {
    const lines = (rest + Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1')).split(
      '\n',
    )
    rest = lines.pop() as string
    if (rest.length > MOST_LINE) throw refuse(`it has more than ${MOST_LINE} bytes`)
    for (const text of lines) {
      take(text)
      line++
    }
  })
  if (rest !== '') take(rest)
}

/** Documents of an .idx of Megatron's, each checked. */
export async function scanIndex(
  { tokens: file, bytes }: BordersFile,
  out: BordersBuilder,
  { stores, progress }: IndexTools,
): Promise<void> {
  await goThroughIndex(file, stores, (first, lengths, starts) => {
    for (let i = 0; i < lengths.length; i++) out.add(starts[i], starts[i] + lengths[i])
    progress?.(Math.min(bytes, 12 * (first + lengths.length)))
  })
}
