/** Goes through an .idx of Megatron's, of any store, from its first entry to its last, and checks each. */
import type { IndexTools } from '../../../../core/source/index/of-file.js'
import { indexPlaces } from '../megatron.js'
import { TOKEN_BYTES, type TokenFile, type TokenIndex } from '../token-file.js'
import type { BordersBuilder } from './builder.js'
import type { BordersFile } from './contract.js'
import { beyondEnd, wrongLength, wrongOrder, wrongPointer } from './indexed.js'

/** Entries that are read at once: 12 MiB. */
const ENTRIES = 1 << 20

export type ReadBytes = (into: Buffer, offset: number) => Promise<unknown>
/** Told of a piece of the entries: the number of the first, and their lengths. What they hold is checked. */
export type OnEntries = (first: number, lengths: Int32Array, starts: Float64Array) => void

/** All entries of an index, piece by piece. Arrays are used again for the next piece. */
export async function goThroughIndex(file: TokenFile, read: ReadBytes, found: OnEntries): Promise<void> {
  const index = file.index as TokenIndex
  const places = indexPlaces(index)
  const item = TOKEN_BYTES[file.dtype]
  const room = Math.min(ENTRIES, index.sequences)
  const lengths = new Int32Array(room)
  const words = new Uint32Array(2 * room)
  const starts = new Float64Array(room)
  let before = 0
  for (let first = 0; first < index.sequences; first += room) {
    const count = Math.min(room, index.sequences - first)
    await read(Buffer.from(lengths.buffer, 0, 4 * count), places.lengths + 4 * first)
    await read(Buffer.from(words.buffer, 0, 8 * count), places.pointers + 8 * first)
    for (let i = 0; i < count; i++) {
      const length = lengths[i]
      const pointer = words[2 * i] + 2 ** 32 * (words[2 * i + 1] | 0)
      const start = pointer / item
      if (length < 0) throw wrongLength(file, first + i, length)
      if (!Number.isSafeInteger(start) || start < 0 || start > file.tokens)
        throw wrongPointer(file, first + i, pointer)
      if (start !== before) throw wrongOrder(file, first + i, start, before)
      if (start + length > file.tokens) throw beyondEnd(file, first + i, start, length)
      starts[i] = start
      before = start + length
    }
    found(first, count === room ? lengths : lengths.subarray(0, count), starts)
  }
}

export async function scanIndex(
  { tokens: file, bytes }: BordersFile,
  out: BordersBuilder,
  { read, progress }: IndexTools,
): Promise<void> {
  await goThroughIndex(file, read, (first, lengths, starts) => {
    for (let i = 0; i < lengths.length; i++) out.add(starts[i], starts[i] + lengths[i])
    progress?.(Math.min(bytes, 12 * (first + lengths.length)))
  })
}
