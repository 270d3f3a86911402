/**
 * The documents of a local .idx, of any size, without reading it as a whole: blocks of pointers and lengths are read when they are
 * asked for, and some of them kept. What is read is checked.
 */
import { SourceError } from '../../../../core/basics/errors.js'
import { lastAtMost, lastWhere } from '../../../../core/basics/search.js'
import { readRange } from '../../../../core/store/access.js'
import { FileStore } from '../../../../core/store/file.js'
import type { Stores } from '../../../../core/store/stores.js'
import { indexPlaces } from '../megatron.js'
import { TOKEN_BYTES, type TokenFile, type TokenIndex } from '../token-file.js'
import type { Documents } from './contract.js'

/** Documents of a block: 16 KiB of pointers. */
const BLOCK = 2048
/** Blocks that a thread keeps of a file: 6 MiB. */
const KEPT = 256

interface Block {
  starts: Float64Array
  ends: Float64Array
}

export class IndexedDocuments implements Documents {
  readonly count: number
  private readonly index: TokenIndex
  private readonly store = new FileStore({ access: 'random' })
  private readonly blocks = new Map<number, Block>()
  /** First token of blocks that a search has come by: there it goes every time. */
  private readonly firsts = new Map<number, number>()

  constructor(private readonly file: TokenFile) {
    this.index = file.index as TokenIndex
    this.count = this.index.sequences
  }

  start(document: number): number {
    return this.block(Math.floor(document / BLOCK)).starts[document % BLOCK]
  }

  end(document: number): number {
    return this.block(Math.floor(document / BLOCK)).ends[document % BLOCK]
  }

  find(token: number): number {
    const number = lastWhere(Math.ceil(this.count / BLOCK), block => this.first(block) <= token)
    return number * BLOCK + lastAtMost(this.block(number).starts, token)
  }

  private first(block: number): number {
    let first = this.blocks.get(block)?.starts[0] ?? this.firsts.get(block)
    if (first === undefined) {
      const bytes = this.read(indexPlaces(this.index).pointers + 8 * BLOCK * block, 8)
      first = startOf(this.file, block * BLOCK, 0, Number(bytes.readBigInt64LE(0)))
      this.firsts.set(block, first)
    }
    return first
  }

  private block(number: number): Block {
    let block = this.blocks.get(number)
    if (block === undefined) {
      if (this.blocks.size >= KEPT) this.blocks.delete(this.blocks.keys().next().value as number)
      block = this.load(number)
      this.blocks.set(number, block)
    }
    return block
  }

  private load(number: number): Block {
    const from = number * BLOCK
    const count = Math.min(BLOCK, this.count - from)
    const places = indexPlaces(this.index)
    // With the one in front of the block, whose end is the block's start.
    const front = from === 0 ? 0 : 1
    const pointers = this.read(places.pointers + 8 * (from - front), 8 * (count + front))
    const lengths = this.read(places.lengths + 4 * (from - front), 4 * (count + front))
    const starts = new Float64Array(count)
    const ends = new Float64Array(count)
    let before = from === 0 ? 0 : undefined
    for (let i = -front; i < count; i++) {
      const length = lengths.readInt32LE(4 * (front + i))
      const pointer = Number(pointers.readBigInt64LE(8 * (front + i)))
      const start = startOf(this.file, from + i, length, pointer, before)
      before = start + length
      if (i < 0) continue
      starts[i] = start
      ends[i] = before
    }
    return { starts, ends }
  }

  private read(offset: number, length: number): Buffer {
    const into = Buffer.allocUnsafeSlow(length)
    this.store.readNow(this.index.path, offset, into, this.index.version)
    return into
  }
}

/** Entries that are read at once: 12 MiB. */
const ENTRIES = 1 << 20

/** Gets a piece of the entries: the number of the first, their lengths, and their pointers or first tokens. */
export type OnEntries = (first: number, lengths: Int32Array, places: Float64Array) => void

/** All lengths and pointers of an index, piece by piece, unchecked. Arrays are used again for the next piece. */
export async function readEntries(index: TokenIndex, stores: Stores, found: OnEntries): Promise<void> {
  const places = indexPlaces(index)
  const room = Math.min(ENTRIES, index.sequences)
  const lengths = new Int32Array(room)
  const words = new Uint32Array(2 * room)
  const pointers = new Float64Array(room)
  for (let first = 0; first < index.sequences; first += room) {
    const count = Math.min(room, index.sequences - first)
    await readIndex(index, stores, Buffer.from(lengths.buffer, 0, 4 * count), places.lengths + 4 * first)
    await readIndex(index, stores, Buffer.from(words.buffer, 0, 8 * count), places.pointers + 8 * first)
    for (let i = 0; i < count; i++) pointers[i] = words[2 * i] + 2 ** 32 * (words[2 * i + 1] | 0)
    found(first, count === room ? lengths : lengths.subarray(0, count), pointers)
  }
}

/** Reads bytes of an .idx, in any store. */
export function readIndex(
  index: TokenIndex,
  stores: Stores,
  into: Uint8Array,
  offset: number,
): Promise<void> {
  const { path: file, version: was } = index
  return readRange(stores, { file, offset, length: into.length, was }, into)
}

/** The same with first tokens in place of pointers. Each entry is checked. */
export async function goThroughIndex(file: TokenFile, stores: Stores, found: OnEntries): Promise<void> {
  let before = 0
  await readEntries(file.index as TokenIndex, stores, (first, lengths, places) => {
    for (let i = 0; i < lengths.length; i++) {
      places[i] = startOf(file, first + i, lengths[i], places[i], before)
      before = places[i] + lengths[i]
    }
    found(first, lengths, places)
  })
}

/** The first token of an entry. Refuses one that can't be right, or, where `before` is given, does not begin there. */
function startOf(file: TokenFile, entry: number, length: number, pointer: number, before?: number): number {
  const { dtype, tokens, size, path } = file
  const start = pointer / TOKEN_BYTES[dtype]
  const problem =
    length < 0
      ? `a length of ${length} tokens: the index is damaged`
      : !Number.isSafeInteger(start) || start < 0 || start > tokens
        ? `its pointer is ${pointer}, which is not a place in a file of ${size} bytes with tokens of ${TOKEN_BYTES[dtype]}: the index is damaged`
        : before !== undefined && start !== before
          ? `it begins at token ${start}, but what is in front of it ends at ${before}: documents follow one another`
          : start + length > tokens
            ? `${length} tokens from token ${start} on, but ${path} has ${tokens}: they don't belong together`
            : undefined
  if (problem === undefined) return start
  const index = file.index?.path as string
  throw new SourceError(
    `${index}: entry ${entry}: ${problem} (millrace tokens verify tells all that is wrong)`,
    { file: index },
  )
}
