/**
 * The documents of a local .idx, of any size, without reading it as a whole: blocks of pointers and lengths are read when they are
 * asked for, and some of them kept. What is read is checked.
 */
import { SourceError } from '../../../../core/basics/errors.js'
import { lastAtMost } from '../../../../core/basics/search.js'
import { FileStore } from '../../../../core/store/file.js'
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
    let low = 0
    let high = Math.max(0, Math.ceil(this.count / BLOCK) - 1)
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.first(middle) <= token) low = middle
      else high = middle - 1
    }
    return low * BLOCK + lastAtMost(this.block(low).starts, token)
  }

  private first(block: number): number {
    let first = this.blocks.get(block)?.starts[0] ?? this.firsts.get(block)
    if (first === undefined) {
      const bytes = this.read(indexPlaces(this.index).pointers + 8 * BLOCK * block, 8)
      first = this.startOf(bytes, 0, block * BLOCK)
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
      const start = this.startOf(pointers, front + i, from + i)
      if (length < 0) throw wrongLength(this.file, from + i, length)
      if (start + length > this.file.tokens) throw beyondEnd(this.file, from + i, start, length)
      if (start !== (before ?? start)) throw wrongOrder(this.file, from + i, start, before as number)
      before = start + length
      if (i < 0) continue
      starts[i] = start
      ends[i] = before
    }
    return { starts, ends }
  }

  private startOf(pointers: Buffer, i: number, document: number): number {
    const pointer = Number(pointers.readBigInt64LE(8 * i))
    const start = pointer / TOKEN_BYTES[this.file.dtype]
    if (!Number.isSafeInteger(start) || start < 0 || start > this.file.tokens)
      throw wrongPointer(this.file, document, pointer)
    return start
  }

  private read(offset: number, length: number): Buffer {
    const into = Buffer.allocUnsafeSlow(length)
    this.store.readNow(this.index.path, offset, into, this.index.version)
    return into
  }
}

function wrong({ index }: TokenFile, entry: number, problem: string): SourceError {
  const file = index?.path as string
  return new SourceError(
    `${file}: entry ${entry}: ${problem} (millrace tokens verify tells all that is wrong)`,
    { file },
  )
}

export function wrongLength(file: TokenFile, entry: number, length: number): SourceError {
  return wrong(file, entry, `a length of ${length} tokens: the index is damaged`)
}

export function wrongPointer(file: TokenFile, entry: number, pointer: number): SourceError {
  const about = `a place in a file of ${file.size} bytes with tokens of ${TOKEN_BYTES[file.dtype]}`
  return wrong(file, entry, `its pointer is ${pointer}, which is not ${about}: the index is damaged`)
}

export function wrongOrder(file: TokenFile, entry: number, start: number, before: number): SourceError {
  return wrong(
    file,
    entry,
    `it begins at token ${start}, but what is in front of it ends at ${before}: documents follow one another`,
  )
}

export function beyondEnd(file: TokenFile, entry: number, start: number, length: number): SourceError {
  return wrong(
    file,
    entry,
    `${length} tokens from token ${start} on, but ${file.path} has ${file.tokens}: they don't belong together`,
  )
}
