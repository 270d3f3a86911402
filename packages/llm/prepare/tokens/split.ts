/** Divides token files by documents: in shares, cut as Megatron cuts them, or so many documents a file. */
import { SourceError } from '../../../core/basics/errors.js'
import type { TokenFile } from '../../tokens/formats/token-file.js'
import { splitRange } from '../../tokens/megatron/split.js'
import { type Converted, type ConvertOptions, openPieces, type Piece, writePieces } from './convert.js'
import { filesOf, refuseExisting } from './write/open.js'
import type { WriterOptions } from './write/writer.js'

export interface Share {
  /** What is put behind the name of the output. */
  name: string
  from: number
  to: number
}

/** Documents from … to − 1 for each share of `ratios`, by Megatron's rounding. */
export function sharesOf(ratios: readonly number[], names: readonly string[], documents: number): Share[] {
  return ratios.map((_, i) => ({ name: names[i], ...splitRange(ratios, i, documents) }))
}

export function runsOf(each: number, documents: number): Share[] {
  const count = Math.ceil(documents / each)
  const digits = Math.max(4, String(count - 1).length)
  return Array.from({ length: count }, (_, i) => ({
    name: String(i).padStart(digits, '0'),
    from: i * each,
    to: Math.min(documents, (i + 1) * each),
  }))
}

export async function splitTokens(
  files: readonly TokenFile[],
  out: string,
  divide: (documents: number) => Share[],
  options: Omit<ConvertOptions, 'format'>,
): Promise<Converted[]> {
  const [{ format, path }] = files
  if (format === 'olmo' || files.some(file => file.format !== format))
    throw new SourceError(
      `${path}: files that are divided are all megatron, nanogpt, llmc or npy: convert them first`,
      { file: path },
    )
  const wanted: WriterOptions = { ...options, format }
  if (format !== 'megatron' && options.eod === undefined)
    throw new SourceError(
      `${path} marks documents by a token (${format}): name it, --eod N (50256 is GPT-2's)`,
      { file: path },
    )
  const pieces = await openPieces(files, wanted, options.context)
  const documents = pieces.reduce((sum, piece) => sum + (piece.documents?.count ?? 0), 0)
  const shares = divide(documents)
  const nameOf = ({ name }: Share): string => `${out}-${name}`
  if (!options.overwrite) refuseExisting(shares.flatMap(share => filesOf(nameOf(share), format)))
  const total = files.reduce((sum, { tokens }) => sum + tokens, 0)
  const written: Converted[] = []
  for (const share of shares) {
    const some = stretches(pieces, share)
    const { dtype } = files[0]
    written.push(await writePieces(some, nameOf(share), { dtype, ...options, format }, total))
  }
  return written
}

function stretches(pieces: readonly Piece[], { from, to }: Share): Piece[] {
  const found: Piece[] = []
  let before = 0
  for (const piece of pieces) {
    const count = piece.documents?.count ?? 0
    const [begin, end] = [Math.max(0, from - before), Math.min(count, to - before)]
    if (begin < end) found.push({ ...piece, from: begin, to: end })
    before += count
  }
  return found
}
