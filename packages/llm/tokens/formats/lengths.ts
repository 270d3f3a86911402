/** The lengths of all documents, for packing: 4 bytes each, in memory that threads share. */
import { SourceError } from '../../../core/basics/errors.js'
import { readRange } from '../../../core/store/access.js'
import { Stores } from '../../../core/store/stores.js'
import type { FileDocuments, OpenedDocuments } from './borders/contract.js'
import { goThroughIndex } from './borders/scan-index.js'
import { attachDocuments } from './documents.js'
import type { TokenIndex } from './token-file.js'

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
      const { path: file, version: was } = one.file.index as TokenIndex
      const read = (into: Buffer, offset: number): Promise<void> =>
        readRange(stores, { file, offset, length: into.length, was }, into)
      await goThroughIndex(one.file, read, (first, some) => {
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
