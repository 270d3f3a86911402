/**
 * Decodes the pages of a column chunk into a column of the cache. Levels say which rows and elements there are, a sink takes the
 * values. Nothing is made for a row or a value.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import { crc32 } from '../../../core/codec/checksum.js'
import { type ColumnRoom, NULL_LIST, RAGGED, WORDS } from '../../../core/source/columnar/room.js'
import { type ColumnSpace, layColumn, setBit, setBits } from '../../../core/source/columnar/space.js'
import type { Form } from '../form.js'
import { ENCODING } from '../names.js'
import type { ParquetLeaf } from '../structure/schema.js'
import { readLevels, readPageLevels } from './bits.js'
import { decompressPage } from './compressed.js'
import { BeyondError, FixedSink } from './fixed.js'
import { DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, INDEX_PAGE, PageHeader } from './page-header.js'
import { scratch } from './scratch.js'
import type { ValueSink } from './sink.js'
import { TextSink } from './text.js'

export class ChunkLoader {
  private readonly header = new PageHeader()
  /** Rows that have begun, items that are there. */
  private row = 0
  private item = 0
  private values = 0
  private nullItems = false
  private readonly most: number
  /** Of lists in lists. */
  private readonly shapes: Shapes | undefined

  constructor(
    private readonly leaf: ParquetLeaf,
    private readonly sink: ValueSink,
    private readonly room: ColumnRoom,
    private readonly space: ColumnSpace,
    private readonly codec: number,
    /** Bytes that its pages have, decompressed, at most. */
    private readonly raw: number,
    /** Checksums that pages have are compared. */
    private readonly checks: boolean,
  ) {
    this.most = room.list?.elements ?? room.rows
    if (leaf.lists !== undefined) this.shapes = new Shapes(space.dims, leaf.lists)
  }

  /** Decodes pages that lie behind each other: a whole chunk, its dictionary alone, some of its pages. */
  load(bytes: Uint8Array, base: number): void {
    let at = 0
    while (at < bytes.length && this.row <= this.room.rows) {
      const begin = at
      try {
        at = this.header.read(bytes, at)
        if (this.header.compressed > bytes.length - at)
          throw new DecodeError(
            `it has ${this.header.compressed} bytes, and the column chunk ${bytes.length - at} more`,
          )
        if (this.header.raw > this.raw)
          throw new DecodeError(
            `it would have ${this.header.raw} bytes, decompressed, more than the whole column chunk`,
          )
        const body = bytes.subarray(at, at + this.header.compressed)
        if (this.checks && this.header.crc >= 0 && crc32(body) !== this.header.crc)
          throw new DecodeError('it has another checksum (CRC-32) than its header says')
        this.page(body)
        at += this.header.compressed
      } catch (error) {
        if (!(error instanceof DecodeError) || error instanceof BeyondError) throw error
        throw new DecodeError(`the page at byte ${base + begin} can't be decoded: ${error.message}`, {
          cause: error,
        })
      }
    }
  }

  /** Completes the column; refuses one whose pages have not all that was announced. */
  finish(): void {
    const { row, room, space, leaf } = this
    if (row !== room.rows)
      throw new DecodeError(`its pages have ${row} rows, and the footer announces ${room.rows}`)
    if (leaf.repetition > 0) space.offsets[row] = this.item
    this.shapes?.finish()
    if (!this.nullItems) space.header[WORDS.fullItems] = 1
    this.sink.finish()
  }

  private page(body: Uint8Array): void {
    const { header } = this
    if (header.type === DICTIONARY_PAGE) {
      if (header.encoding !== ENCODING.PLAIN && header.encoding !== ENCODING.PLAIN_DICTIONARY)
        throw new DecodeError(`its dictionary has the encoding ${header.encoding}`)
      this.sink.setDictionary(
        this.content(body, header.raw, this.sink.target(ENCODING.PLAIN, this.item)),
        header.values,
      )
    } else if (header.type === DATA_PAGE) this.page1(body)
    else if (header.type === DATA_PAGE_V2) this.page2(body)
    else if (header.type !== INDEX_PAGE) throw new DecodeError(`it is a page of type ${header.type}`)
  }

  /** Decompressed: where the sink wants it if it has room there, else in memory of this thread. */
  private content(body: Uint8Array, raw: number, target?: Uint8Array): Uint8Array {
    if (this.codec === 0) return body
    const into =
      target !== undefined && target.length >= raw ? target.subarray(0, raw) : scratch.page.bytes(raw)
    decompressPage(this.codec, body, into)
    return into
  }

  private page1(body: Uint8Array): void {
    const { header, leaf } = this
    const { values, encoding } = header
    const flat = leaf.definition === 0 && leaf.repetition === 0
    const content = this.content(body, header.raw, flat ? this.sink.target(encoding, this.item) : undefined)
    let at = 0
    let repetitions: Uint8Array | undefined
    let definitions: Uint8Array | undefined
    this.checkCount(values)
    if (leaf.repetition > 0) {
      repetitions = scratch.repetitions.bytes(values)
      at = readPageLevels(content, at, header.repetitionEncoding, leaf.repetition, repetitions)
    }
    if (leaf.definition > 0) {
      definitions = scratch.definitions.bytes(values)
      at = readPageLevels(content, at, header.definitionEncoding, leaf.definition, definitions)
    }
    this.rows(content, at, repetitions, definitions)
  }

  private page2(body: Uint8Array): void {
    const { header, leaf } = this
    const { values, encoding, repetitionBytes, definitionBytes } = header
    const levels = repetitionBytes + definitionBytes
    if (levels > body.length || levels > header.raw) throw new DecodeError('its levels are cut off')
    this.checkCount(values)
    let repetitions: Uint8Array | undefined
    let definitions: Uint8Array | undefined
    if (leaf.repetition > 0) {
      repetitions = scratch.repetitions.bytes(values)
      readLevels(body, 0, repetitionBytes, leaf.repetition, values, repetitions)
    }
    if (leaf.definition > 0) {
      definitions = scratch.definitions.bytes(values)
      readLevels(body, repetitionBytes, levels, leaf.definition, values, definitions)
    }
    const rest = body.subarray(levels)
    const raw = header.raw - levels
    const isPacked = header.isCompressed && this.codec !== 0 && raw > 0
    const content = isPacked ? this.content(rest, raw, this.sink.target(encoding, this.item)) : rest
    this.rows(content, 0, repetitions, definitions)
  }

  /** Counts are known before anything is made for them. */
  private checkCount(values: number): void {
    this.values += values
    if (this.values > this.most)
      throw new DecodeError(`its pages have ${this.values} values, and the footer announces ${this.most}`)
  }

  private rows(content: Uint8Array, at: number, repetitions?: Uint8Array, definitions?: Uint8Array): void {
    const { values } = this.header
    if (repetitions !== undefined) this.lists(content, at, repetitions, definitions)
    else {
      const { definition } = this.leaf
      const n = definitions === undefined ? values : countOf(definitions, definition)
      if (this.row + values > this.room.rows) throw this.manyRows(values)
      this.put(content, at, n, values, definitions)
      if (definitions !== undefined) this.mark(this.space.validity, this.row, n, definitions)
      this.row += values
    }
  }

  private put(content: Uint8Array, at: number, n: number, count: number, levels?: Uint8Array): void {
    if (n > 0) this.sink.put(this.header.encoding, content, at, n, this.item)
    if (n < count) this.sink.spread(this.item, count, n, levels as Uint8Array, this.leaf.definition)
    this.item += count
  }

  /** Sets the bits of those whose level is the greatest. */
  private mark(bits: Uint8Array, from: number, n: number, levels: Uint8Array): void {
    const { definition } = this.leaf
    if (bits.length === 0) return
    if (n === levels.length) setBits(bits, from, n)
    else for (let i = 0; i < levels.length; i++) if (levels[i] === definition) setBit(bits, from + i)
  }

  private lists(content: Uint8Array, at: number, repetitions: Uint8Array, definitions?: Uint8Array): void {
    const { leaf, space } = this
    const n = definitions === undefined ? repetitions.length : countOf(definitions, leaf.definition)
    if (this.row === 0 && repetitions.length > 0 && repetitions[0] !== 0)
      throw new DecodeError('its first value belongs to no row')
    this.shapes?.add(repetitions, definitions)
    if (definitions === undefined || n === repetitions.length) {
      const first = this.row
      for (let i = repetitions.indexOf(0); i >= 0; i = repetitions.indexOf(0, i + 1))
        this.begin(this.item + i)
      if (space.validity.length > 0) setBits(space.validity, first, this.row - first)
      this.put(content, at, n, n)
      if (space.itemValidity.length > 0) setBits(space.itemValidity, this.item - n, n)
      return
    }
    const outer = leaf.lists?.[0] ?? leaf.elements
    // Levels of the elements alone, moved together at the front.
    let count = 0
    for (let i = 0; i < repetitions.length; i++) {
      const level = definitions[i]
      if (repetitions[i] === 0) {
        this.begin(this.item + count)
        if (level >= outer - 1 && space.validity.length > 0) setBit(space.validity, this.row - 1)
      }
      if (level >= leaf.elements) definitions[count++] = level
    }
    const levels = definitions.subarray(0, count)
    if (n < count) this.nullItems = true
    this.put(content, at, n, count, levels)
    this.mark(space.itemValidity, this.item - count, n, levels)
  }

  private begin(item: number): void {
    if (this.row >= this.room.rows) throw this.manyRows(1)
    this.space.offsets[this.row++] = item
  }

  private manyRows(more: number): DecodeError {
    return new DecodeError(`it has ${more} more rows, and the footer announces ${this.room.rows} in all`)
  }
}

/** What a chunk is compressed by, and how much its pages have, decompressed, at most. */
export interface Packing {
  codec: number
  raw: number
}

/** Pages that lie behind each other, and where that is in the file. */
export interface PageBytes {
  bytes: Uint8Array
  offset: number
}

/** Decodes a column from the pages of a chunk into its piece of the cache. */
export function loadColumn(
  leaf: ParquetLeaf,
  form: Form,
  room: ColumnRoom,
  { codec, raw }: Packing,
  pages: readonly PageBytes[],
  into: Uint8Array,
  checks = true,
): void {
  const space = layColumn(room, into)
  const sink =
    form.width === 0
      ? new TextSink(space, room.dictionary !== undefined, form.items === 'text')
      : new FixedSink(form, space.values, leaf.logical?.scale)
  const loader = new ChunkLoader(leaf, sink, room, space, codec, raw, checks)
  for (const { bytes, offset } of pages) loader.load(bytes, offset)
  loader.finish()
}

function countOf(levels: Uint8Array, level: number): number {
  let n = 0
  for (let i = 0; i < levels.length; i++) if (levels[i] === level) n++
  return n
}

/**
 * The shapes of rows that are lists in lists, from their levels: how many elements the lists of each depth have. Lists side by
 * side must have one length; where they have not, or one of them is null, the row's first number says so.
 */

const UNKNOWN = -1

class Shapes {
  private row = -1
  /** The number that marks the row as no array; 0: it is one. */
  private fault = 0
  /** Elements of the list of each depth that is open, and of those before it in the row. */
  private readonly counts: number[]
  private readonly shape: number[]
  /** Lists that are open: those below an empty one are not there. */
  private open = 0

  /** `dims`: the numbers of a row, one behind the other. `lists`: the definition level from which on a list of each depth has an element. */
  constructor(
    private readonly dims: Uint32Array,
    private readonly lists: readonly number[],
  ) {
    this.counts = lists.map(() => 0)
    this.shape = lists.map(() => UNKNOWN)
  }

  add(repetitions: Uint8Array, definitions: Uint8Array | undefined): void {
    const { lists, counts } = this
    for (let i = 0; i < repetitions.length; i++) {
      const repetition = repetitions[i]
      if (repetition === 0) this.begin()
      else {
        this.close(repetition)
        counts[repetition - 1]++
      }
      const level = definitions === undefined ? 255 : definitions[i]
      this.open = lists.length
      for (let depth = repetition; depth < lists.length; depth++) {
        const has = level >= lists[depth]
        counts[depth] = has ? 1 : 0
        if (has) continue
        if (depth > 0 && level < lists[depth] - 1) this.fault ||= NULL_LIST
        this.open = depth + 1
        break
      }
    }
  }

  /** Ends the last row. */
  finish(): void {
    if (this.row >= 0) this.end()
  }

  private begin(): void {
    this.finish()
    this.row++
  }

  private end(): void {
    const { dims, shape, lists } = this
    this.close(0)
    for (let depth = 0; depth < lists.length; depth++)
      dims[this.row * lists.length + depth] = Math.max(0, shape[depth])
    if (this.fault !== 0) dims[this.row * lists.length] = this.fault
    this.fault = 0
    shape.fill(UNKNOWN)
  }

  /** Ends the lists from a depth on. */
  private close(from: number): void {
    const { shape, counts } = this
    for (let depth = from; depth < this.open; depth++) {
      if (shape[depth] === UNKNOWN) shape[depth] = counts[depth]
      else if (shape[depth] !== counts[depth]) this.fault ||= RAGGED
    }
  }
}
