/**
 * Where the documents of token files begin and end.
 *
 * There are two steps, as with sources. `openDocuments` runs once in the main thread; formats that mark documents by a token are
 * then scanned once, and what is found is kept as an index (borders/kept-index.ts). `attachDocuments` makes of what it gives, which is plain data,
 * something that any thread can ask, without waiting.
 */
import { crc32 } from '../../../core/codec/checksum.js'
import type { OpenContext } from '../../../core/source/source.js'
import { Stores, schemeOf } from '../../../core/store/stores.js'
import type { BordersFile, DocumentMarks, Documents, OpenedDocuments } from './borders/contract.js'
import { IndexedDocuments } from './borders/indexed.js'
import { KeptDocuments } from './borders/kept.js'
import type { TokenFile } from './token-file.js'

export type { DocumentMarks, Documents, OpenedDocuments } from './borders/contract.js'

/** Documents of a file that tell whether it has others. */
const TELLING = 1024

export async function openDocuments(
  files: readonly TokenFile[],
  marks: DocumentMarks,
  context: OpenContext,
): Promise<OpenedDocuments> {
  const [{ obtainFileIndexes }, { bordersIndex, bordersOf }] = await Promise.all([
    import('../../../core/source/index/of-files.js'),
    import('./borders/kept-index.js'),
  ])
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
