/** Token files of one format become one file of another; of several files, their documents follow one another. */
import { SourceError } from '../../../core/basics/errors.js'
import type { OpenContext } from '../../../core/source/source.js'
import { Stores } from '../../../core/store/stores.js'
import { attachDocuments, type Documents, openDocuments } from '../../tokens/formats/documents.js'
import { TOKEN_BYTES, type TokenFile } from '../../tokens/formats/token-file.js'
import { goThrough, type Stretch } from './go-through.js'
import { listsDocuments } from './statistics.js'
import { keeping, Marking, streaming } from './transfer.js'
import type { MegatronWriter } from './write/megatron-writer.js'
import { checkRoom, dtypesOf, explainRoom, filesOf, openTokenWriter } from './write/open.js'
import type { WriterOptions, Written } from './write/writer.js'

export interface ConvertOptions extends WriterOptions {
  context: OpenContext
}

export interface Converted extends Omit<Written, 'documents'> {
  /** Undefined where tokens were copied without looking for documents. */
  documents?: number
  /** Documents that lacked the token that marks their end, and got one. */
  marksAdded: number
}

export interface Piece {
  file: TokenFile
  documents: Documents | undefined
  from?: number
  to?: number
}

/** Files as one: `out` gets all their documents. */
export async function convertTokens(
  files: readonly TokenFile[],
  out: string,
  options: ConvertOptions,
): Promise<Converted> {
  const pieces = await openPieces(files, options, options.context)
  const total = files.reduce((sum, { tokens }) => sum + tokens, 0)
  return writePieces(pieces, out, options, total)
}

/** The documents of files, where the way to the new format needs them. */
export async function openPieces(
  files: readonly TokenFile[],
  options: Pick<WriterOptions, 'format' | 'eod'>,
  context: OpenContext,
): Promise<Piece[]> {
  for (const { index } of files) {
    if (index?.modes)
      throw new SourceError(
        `${index.path} has sequences of several modes (text and pictures): they are not written here`,
        { file: index.path },
      )
  }
  if (options.eod === undefined && files.every(file => isStream(file, options.format)))
    return files.map(file => ({ file, documents: undefined }))
  const marked = files.find(file => !listsDocuments(file))
  if (options.eod === undefined && (marked !== undefined || options.format !== 'megatron')) {
    const why =
      marked === undefined
        ? `files of format ${options.format} mark documents by a token`
        : `${marked.path} marks documents by a token (${marked.format})`
    throw new SourceError(`${why}: name it, --eod N (50256 is GPT-2's)`, { file: files[0].path })
  }
  const documents = attachDocuments(await openDocuments(files, options, context))
  return files.map((file, i) => ({ file, documents: documents[i] }))
}

/** Both formats mark documents by a token in the same place: tokens stay as they are. */
function isStream(file: TokenFile, format: WriterOptions['format']): boolean {
  if (listsDocuments(file) || format === 'megatron') return false
  return (file.format === 'llmc') === (format === 'llmc')
}

/** Writes documents, one piece behind the other, into one new file. */
export async function writePieces(
  pieces: readonly Piece[],
  out: string,
  options: ConvertOptions,
  total: number,
): Promise<Converted> {
  const { context, ...wanted } = options
  const dtype = wanted.dtype ?? commonDtype(pieces, wanted)
  const { format, eod, ...plain } = wanted
  const listed = format === 'megatron' && pieces.every(({ file }) => listsDocuments(file))
  const streams = pieces.every(({ file }) => isStream(file, format))
  const writer = openTokenWriter(out, { ...plain, format, dtype, ...(!listed && !streams && { eod }) })
  using stores = new Stores({ access: 'sequential' })
  const asTheyAre = listed ? keeping(writer as MegatronWriter) : streaming(writer)
  let done = 0
  let marksAdded = 0
  try {
    checkRoom(filesOf(out, format)[0], tokensOf(pieces) * TOKEN_BYTES[dtype ?? 'u16'])
    for (const { file, documents, from, to } of pieces) {
      const before = done
      const progress = (tokens: number): void =>
        context.progress?.(before + tokens, total, 'converting', 'tokens')
      const stretch: Stretch = {
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
        progress,
      }
      if (listed || streams) await goThrough(file, documents, asTheyAre, stores, stretch)
      else {
        const at = file.format === 'llmc' ? 'start' : 'end'
        const marking = new Marking(writer, eod as number, at, file.path)
        await goThrough(file, documents, marking, stores, stretch)
        marksAdded += marking.added
      }
      done += file.tokens
    }
    const { documents, ...written } = await writer.finish()
    const counted = streams ? countOf(pieces) : documents
    return { ...written, ...(counted !== undefined && { documents: counted }), marksAdded }
  } catch (error) {
    throw explainRoom(error)
  } finally {
    writer.abort()
  }
}

/** Tokens of all pieces, without marks that are added. */
function tokensOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { file, documents, from = 0, to = documents?.count ?? 0 }) => {
    if (documents === undefined) return sum + file.tokens
    return from < to ? sum + documents.end(to - 1) - documents.start(from) : sum
  }, 0)
}

/** Documents of all pieces, where they are known. */
function countOf(pieces: readonly Piece[]): number | undefined {
  let count = 0
  for (const { documents, from = 0, to = documents?.count ?? 0 } of pieces) {
    if (documents === undefined) return undefined
    count += to - from
  }
  return count
}

/** The type that all files have, or the nearest that the format has. */
function commonDtype(
  pieces: readonly Piece[],
  { format, vocabulary }: WriterOptions,
): WriterOptions['dtype'] {
  if (vocabulary !== undefined) return undefined
  const possible = dtypesOf(format)
  const types = [...new Set(pieces.map(({ file }) => file.dtype))]
  // nanoGPT reads u16, and its files don't tell their type: another one has to be asked for.
  if (format === 'nanogpt' && pieces.some(({ file }) => file.format !== format)) return 'u16'
  if (types.length === 1 && possible.includes(types[0])) return types[0]
  const wide = types.some(type => type !== 'u8' && type !== 'u16')
  return wide ? (format === 'megatron' ? 'i32' : 'u32') : 'u16'
}
