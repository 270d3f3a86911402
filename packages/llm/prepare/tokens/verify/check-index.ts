/** Checks an .idx from its first entry to its last: lengths, pointers, document indices, and that it ends where its .bin does. */

import { readRange } from '../../../../core/store/access.js'
import type { Stores } from '../../../../core/store/stores.js'
import { indexPlaces } from '../../../tokens/formats/megatron.js'
import { TOKEN_BYTES, type TokenFile, type TokenIndex } from '../../../tokens/formats/token-file.js'
import { DocumentIndices, indexProblem } from '../document-indices.js'
import type { Problems } from './problems.js'

const PIECE = 1 << 18

export interface IndexFindings {
  /** Sequences of no tokens. */
  empty: number
  /** Lengths and pointers agree with each other, and with the .bin. */
  sound: boolean
  /** They agree with each other, and leave out one token for each document: what blendcorpus writes. */
  uncounted: boolean
}

export async function checkIndex(
  file: TokenFile,
  stores: Stores,
  problems: Problems,
): Promise<IndexFindings> {
  const index = file.index as TokenIndex
  const { sequences, documents } = index
  const item = TOKEN_BYTES[file.dtype]
  const places = indexPlaces(index)
  const lengths = new Int32Array(PIECE)
  const words = new Uint32Array(2 * PIECE)
  const read = (into: Buffer, offset: number): Promise<void> =>
    readRange(stores, { file: index.path, offset, length: into.length, was: index.version }, into)
  let empty = 0
  let wrong = 0
  let expected = 0
  for (let first = 0; first < sequences; first += PIECE) {
    const count = Math.min(PIECE, sequences - first)
    await read(Buffer.from(lengths.buffer, 0, 4 * count), places.lengths + 4 * first)
    await read(Buffer.from(words.buffer, 0, 8 * count), places.pointers + 8 * first)
    for (let i = 0; i < count; i++) {
      const pointer = words[2 * i] + 2 ** 32 * (words[2 * i + 1] | 0)
      if (lengths[i] < 0) {
        wrong++
        problems.add('length', `${index.path}: entry ${first + i}: a length of ${lengths[i]} tokens`)
      }
      if (pointer !== expected) {
        wrong++
        problems.add(
          'pointer',
          `${index.path}: entry ${first + i}: its pointer is ${pointer}, but the one before it ends at ${expected}`,
        )
      }
      if (lengths[i] === 0) empty++
      expected = pointer + item * Math.max(0, lengths[i])
    }
  }
  await checkDocuments(index, stores, problems)
  const more = (file.size - expected) / item
  const uncounted = wrong === 0 && more > 0 && more === sequences && sequences === documents
  if (more !== 0) {
    problems.add(
      'size',
      `${index.path}: the last document ends at byte ${expected}, but ${file.path} has ${file.size} bytes`,
    )
  }
  return { empty, sound: wrong === 0 && more === 0, uncounted }
}

async function checkDocuments(index: TokenIndex, stores: Stores, problems: Problems): Promise<void> {
  const indices = new DocumentIndices(index, stores)
  let before = 0
  for (let i = 0; i <= index.documents; i++) {
    const value = indices.at(i)
    const number = typeof value === 'number' ? value : await value
    const problem = indexProblem(index, i, number, before)
    if (problem !== undefined) problems.add('document', `${index.path}: ${problem}`)
    before = number
  }
}
