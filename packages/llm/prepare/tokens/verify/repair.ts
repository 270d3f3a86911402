/**
 * Mends an .idx that leaves out the token at the end of each document, as blendcorpus' tokeniser writes it: each length becomes one
 * more, and pointers follow. The index of before stays beside the new one.
 */
import { copyFileSync, existsSync, linkSync } from 'node:fs'
import { SourceError } from '../../../../core/basics/errors.js'
import { lastWhere } from '../../../../core/basics/search.js'
import { type Stores, schemeOf } from '../../../../core/store/stores.js'
import { Draft } from '../../../../core/system/files/draft.js'
import { readIndex } from '../../../tokens/formats/borders/indexed.js'
import type { Documents } from '../../../tokens/formats/documents.js'
import { indexHeader, indexPlaces, type MegatronDtype } from '../../../tokens/formats/megatron.js'
import { TOKEN_BYTES, type TokenFile, type TokenIndex } from '../../../tokens/formats/token-file.js'
import { explainRoom } from '../write/open.js'

const PIECE = 1 << 16

/** Documents as they really lie, given those that the index tells of. */
export function counted(documents: Documents): Documents {
  return {
    count: documents.count,
    start: document => documents.start(document) + document,
    end: document => documents.end(document) + document + 1,
    find: token => lastWhere(documents.count, document => documents.start(document) + document <= token),
  }
}

/** Writes the index anew; gives the name under which the one of before is kept. */
export async function repairIndex(file: TokenFile, stores: Stores): Promise<string> {
  const index = file.index as TokenIndex
  const { path, sequences, documents } = index
  if (schemeOf(path) !== undefined)
    throw new SourceError(
      `${path} lies in a store that is not written here: download both files, and repair them there`,
      { file: path },
    )
  const kept = `${path}.before`
  if (existsSync(kept))
    throw new SourceError(`${kept} is there already: move it away, the index of before gets this name`, {
      file: kept,
    })
  const places = indexPlaces(index)
  const item = BigInt(TOKEN_BYTES[file.dtype])
  const lengths = new Int32Array(PIECE)
  const pointers = new BigInt64Array(PIECE)
  const draft = Draft.open(path)
  try {
    draft.write(indexHeader(file.dtype as MegatronDtype, sequences, documents))
    const each = async (work: (count: number) => Uint8Array): Promise<void> => {
      for (let first = 0; first < sequences; first += PIECE) {
        const count = Math.min(PIECE, sequences - first)
        await readIndex(
          index,
          stores,
          new Uint8Array(lengths.buffer, 0, 4 * count),
          places.lengths + 4 * first,
        )
        draft.write(work(count))
      }
    }
    await each(count => {
      for (let i = 0; i < count; i++) lengths[i]++
      return new Uint8Array(lengths.buffer, 0, 4 * count)
    })
    let at = 0n
    await each(count => {
      for (let i = 0; i < count; i++) {
        pointers[i] = at
        at += item * BigInt(lengths[i] + 1)
      }
      return new Uint8Array(pointers.buffer, 0, 8 * count)
    })
    const piece = new Uint8Array(8 * PIECE)
    for (let from = places.documentIndices; from < index.size; from += piece.length) {
      const some = piece.subarray(0, Math.min(piece.length, index.size - from))
      await readIndex(index, stores, some, from)
      draft.write(some)
    }
    keep(path, kept)
    draft.commit()
    return kept
  } catch (error) {
    throw explainRoom(error)
  } finally {
    draft.discard()
  }
}

function keep(path: string, kept: string): void {
  try {
    linkSync(path, kept)
  } catch {
    // File systems without hard links.
    copyFileSync(path, kept)
  }
}
