/**
 * Borders of documents that are found once and kept in an index (index/of-file.ts says where it lies and how long it is good):
 * of tokens that mark documents, of OLMo's .csv.gz, and of an .idx in another store.
 *
 * Column `end`: where each document ends, in tokens. Column `start` is there only where a document does not begin where the one
 * before it ends.
 */

import { SourceError } from '../../../../core/basics/errors.js'
import { lastWhere } from '../../../../core/basics/search.js'
import type { NumberArray } from '../../../../core/source/index/columns.js'
import type { IndexHeader } from '../../../../core/source/index/file.js'
import { type FileIndexKind, wrongLength } from '../../../../core/source/index/of-file.js'
import { attachKept } from '../../kept-tables.js'
import { TOKEN_BYTES, type TokenFile } from '../token-file.js'
import {
  BordersBuilder,
  type BordersFile,
  type DocumentMarks,
  type Documents,
  type FileDocuments,
} from './contract.js'
import { scanCsv, scanIndex, scanTokens } from './scan.js'

/** What is scanned for the documents of a file. */
export function bordersOf(file: TokenFile, { eod, eodAt }: DocumentMarks): BordersFile {
  const side = file.index ?? file.borders
  if (side !== undefined) {
    const { path, size: bytes, version } = side
    return { file: path, name: file.name, bytes, version, tokens: file, marks: undefined }
  }
  if (eod === undefined) {
    throw new SourceError(
      `${file.path}: files of this format (${file.format}) don't say where documents end: name the token that marks it, ` +
        '"eod" (50256 is GPT-2\'s)',
      { file: file.path },
    )
  }
  const most = 2 ** (8 * TOKEN_BYTES[file.dtype]) - 1
  if (!Number.isSafeInteger(eod) || eod < 0 || eod > most)
    throw new SourceError(`${file.path}: "eod" is ${eod}, which no token of type ${file.dtype} can be`, {
      file: file.path,
    })
  const marks = { eod, eodAt: eodAt ?? (file.format === 'llmc' ? 'start' : 'end') } as const
  return { file: file.path, name: file.name, bytes: file.size, version: file.version, tokens: file, marks }
}

/** The kind of index that fits these marks: one that was made for other marks is made anew. */
export function bordersIndex(data: BordersFile): FileIndexKind<BordersFile> {
  const about = aboutOf(data)
  return {
    kind: 'tokens',
    what: 'file',
    malformed: header => malformed(header, about),
    build: async (data, tools) => {
      const { tokens, marks } = data
      const scan = marks !== undefined ? scanTokens : tokens.index !== undefined ? scanIndex : scanCsv
      const builder = new BordersBuilder()
      await scan(data, builder, tools)
      const probes = Array.from({ length: 32 }, (_, i) => Math.floor((data.bytes * i) / 32))
      return {
        count: builder.ends.length,
        meta: { about },
        columns: builder.columns(),
        probes: [...new Set(probes)],
      }
    },
  }
}

/** What decides borders besides the file itself. */
function aboutOf({ tokens: { begin, dtype, tokens }, marks }: BordersFile): string {
  return JSON.stringify([begin, dtype, tokens, marks?.eod ?? null, marks?.eodAt ?? null])
}

function malformed(header: IndexHeader, about: string): string | undefined {
  if (header.meta.about !== about)
    return 'it was made for another type of tokens, or other marks of documents'
  const { count, columns } = header
  return wrongLength(header, [
    ['end', count],
    ...(columns.start === undefined ? [] : [['start', count] as const]),
  ])
}

export class KeptDocuments implements Documents {
  readonly count: number
  private readonly ends: NumberArray
  private readonly starts: NumberArray | undefined

  constructor(kept: Extract<FileDocuments, { by: 'kept' }>) {
    const index = attachKept(kept, `the index of ${kept.file.path},`)
    this.count = kept.count
    this.ends = index.numbers('end')
    this.starts = index.has('start') ? index.numbers('start') : undefined
  }

  start(document: number): number {
    if (this.starts !== undefined) return this.starts[document]
    return document === 0 ? 0 : this.ends[document - 1]
  }

  end(document: number): number {
    return this.ends[document]
  }

  find(token: number): number {
    return lastWhere(this.count, document => this.start(document) <= token)
  }
}
