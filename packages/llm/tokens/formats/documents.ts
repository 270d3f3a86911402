/**
 * Where the documents of token files begin and end.
 *
 * There are two steps, as with sources. `openDocuments` runs once in the main thread; formats that mark documents by a token are
 * then scanned once, and what is found is kept as an index (borders/kept.ts). `attachDocuments` makes of what it gives, which is plain data,
 * something that any thread can ask, without waiting.
 */

import { SourceError } from '../../../core/basics/errors.js'
import { crc32 } from '../../../core/codec/checksum.js'
import type { OpenContext } from '../../../core/source/source.js'
import { Stores, schemeOf } from '../../../core/store/stores.js'
import { obtainFileIndexes } from '../../../formats/shared/index-of-files.js'
import type {
  BordersFile,
  DocumentMarks,
  Documents,
  FileDocuments,
  OpenedDocuments,
} from './borders/contract.js'
import { goThroughIndex, IndexedDocuments } from './borders/indexed.js'
import { bordersIndex, bordersOf, KeptDocuments } from './borders/kept.js'
import type { TokenFile } from './token-file.js'

export type { DocumentMarks, Documents, OpenedDocuments } from './borders/contract.js'

/** Documents of a file that tell whether it has others. */
const TELLING = 1024

export async function openDocuments(
  files: readonly TokenFile[],
  marks: DocumentMarks,
  context: OpenContext,
): Promise<OpenedDocuments> {
  using stores = new Stores()
  const far = files.filter(file => !isAtHand(file))
  const indexes = await obtainFileIndexes<BordersFile>(
    bordersIndex,
    far.map(file => bordersOf(file, marks)),
    context,
    stores,
    'looking for documents',
  )
  return files.map(file => {
    if (isAtHand(file)) return { by: 'index', count: file.index.sequences, file }
    const { path, header } = indexes[far.indexOf(file)]
    return { by: 'kept', count: header.count, file, path, checksum: header.checksum }
  })
}

/** The documents of files, in any thread. */
export function attachDocuments(files: OpenedDocuments): Documents[] {
  return files.map(one => (one.by === 'index' ? new IndexedDocuments(one.file) : new KeptDocuments(one)))
}

/**
 * A number for each file that differs where its documents do: where those in its middle begin, which follows from the lengths of
 * all before them. Other files may have come under an old size and time of change.
 */
export function bordersDigest(files: OpenedDocuments): number[] {
  return attachDocuments(files).map(documents => {
    const length = Math.min(documents.count, TELLING)
    const first = Math.floor((documents.count - length) / 2)
    const starts = Float64Array.from({ length }, (_, i) => documents.start(first + i))
    return crc32(new Uint8Array(starts.buffer))
  })
}

function isAtHand(file: TokenFile): file is TokenFile & Required<Pick<TokenFile, 'index'>> {
  return file.index !== undefined && schemeOf(file.index.path) === undefined
}

/** Lengths in tokens, of the documents of one file after the other. */
export async function documentLengths(
  files: OpenedDocuments,
  progress?: (done: number, total: number) => void,
): Promise<Uint32Array<SharedArrayBuffer>> {
  const total = files.reduce((sum, { count }) => sum + count, 0)
  const lengths = new Uint32Array(new SharedArrayBuffer(4 * total))
  using stores = new Stores()
  let at = 0
  for (const one of files) {
    const from = at
    if (one.by === 'index') {
      await goThroughIndex(one.file, stores, (first, some) => {
        lengths.set(some, from + first)
        progress?.(from + first + some.length, total)
      })
    } else copyLengths(one, lengths.subarray(from, from + one.count))
    at += one.count
    progress?.(at, total)
  }
  return lengths
}

function copyLengths(one: FileDocuments, into: Uint32Array): void {
  const [documents] = attachDocuments([one])
  for (let i = 0; i < into.length; i++) {
    const length = documents.end(i) - documents.start(i)
    if (length >= 2 ** 32) {
      const { path } = one.file
      throw new SourceError(
        `${path}: document ${i} has ${length} tokens: less than 2^32 are possible. Is "eod" right?`,
        { file: path },
      )
    }
    into[i] = length
  }
}
