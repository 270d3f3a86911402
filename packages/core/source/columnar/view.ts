/** Reads a column of a unit where it lies in the cache (room.ts): the value of a row, as a view. */
import type { StoredDtype } from '../../basics/array.js'
import { READERS } from '../../basics/element.js'
import { DecodeError } from '../../basics/errors.js'
import type { Column } from '../column.js'
import { utf8Text } from '../texts.js'
import { ITEM_TYPES, type ItemType, MAGIC, NULL_LIST, RAGGED, WORDS } from './room.js'
import { hasBit } from './space.js'

const FLOATS: readonly ItemType[] = ['f16', 'bf16', 'f32', 'f64']

/** Of `bytesOf`. */
const found: Span = { at: 0, end: 0 }

/** The whole memory that columns lie in, as arrays: made once a memory, not once a column. */
interface Memory {
  u8: Uint8Array
  u32: Uint32Array
  data: DataView
}

const memories = new WeakMap<ArrayBufferLike, Memory>()

function memoryOf(buffer: ArrayBufferLike): Memory {
  let memory = memories.get(buffer)
  if (memory === undefined) {
    const words = Math.floor(buffer.byteLength / 4)
    memory = {
      u8: new Uint8Array(buffer),
      u32: new Uint32Array(buffer, 0, words),
      data: new DataView(buffer),
    }
    memories.set(buffer, memory)
  }
  return memory
}

/** Where the bytes of a value lie in the memory of its column. One object, written anew for each value. */
export interface Span {
  at: number
  end: number
}

/** One column. It is valid as long as its piece is. */
export class ColumnView {
  readonly rows: number
  readonly items: ItemType
  /** Each row is a list. */
  readonly isList: boolean
  /** Every value is known to be UTF-8. */
  readonly isUtf8: boolean
  /** Elements may be null, and have no NaN for that. */
  private readonly nullItems: boolean
  private readonly memory: Memory
  private readonly list: number
  private readonly width: number
  private readonly gap: number
  /** Where the parts lie in the memory: words for u32, bytes for all others; below 0: there is none. */
  private readonly validity: Uint8Array | undefined
  private readonly itemValidity: Uint8Array | undefined
  private readonly offsets: number
  private readonly dims: number
  private readonly codes: number
  private readonly valueOffsets: number
  private readonly values: number
  private readonly read: ((data: DataView, at: number) => number | bigint) | undefined

  constructor(piece: Uint8Array) {
    const aligned = piece.byteOffset % 4 === 0 ? piece : piece.slice()
    const base = aligned.byteOffset
    const memory = memoryOf(aligned.buffer)
    const words = base / 4
    const word = (name: keyof typeof WORDS): number => memory.u32[words + WORDS[name]]
    if (word('magic') !== MAGIC) throw new Error('this is no column of a unit')
    const part = (name: keyof typeof WORDS): Uint8Array | undefined =>
      word(name) === 0 ? undefined : aligned.subarray(word(name))
    const numbers = (name: keyof typeof WORDS): number => (word(name) === 0 ? -1 : (base + word(name)) / 4)
    this.memory = memory
    this.rows = word('rows')
    this.items = ITEM_TYPES[word('items')]
    this.list = word('list')
    this.isList = this.list !== 0
    this.width = word('width')
    this.isUtf8 = word('utf8') === 1
    this.nullItems = word('itemValidity') > 0 && word('fullItems') === 0 && !FLOATS.includes(this.items)
    this.gap = word('gap')
    this.validity = part('validity')
    this.itemValidity = part('itemValidity')
    this.offsets = numbers('offsets')
    this.dims = numbers('dims')
    this.codes = numbers('codes')
    this.valueOffsets = numbers('valueOffsets')
    this.values = base + word('values')
    this.read = this.items === 'text' || this.items === 'bytes' ? undefined : READERS[this.items]
  }

  /** The whole memory that the column lies in: spans are of this. */
  get bytes(): Uint8Array {
    return this.memory.u8
  }

  /** The values are numbers, or lists of these. */
  get isNumber(): boolean {
    return this.read !== undefined
  }

  /**
   * Finds the bytes of a row's value: a text, a number, the elements of a list of numbers. False where it is null, and where
   * `at` makes something else of it.
   */
  span(row: number, out: Span): boolean {
    if (this.isNull(row)) return false
    if (!this.isList && !this.isNumber) {
      this.spanOf(row, out)
      return true
    }
    if (!this.isNumber || this.nullItems || this.dims >= 0) return false
    const { u32 } = this.memory
    const from = !this.isList ? row : this.offsets < 0 ? row * (this.list - 2) : u32[this.offsets + row]
    const to = !this.isList ? row + 1 : this.offsets < 0 ? from + this.list - 2 : u32[this.offsets + row + 1]
    out.at = this.values + from * this.width
    out.end = this.values + to * this.width
    return true
  }

  isNull(row: number): boolean {
    return this.validity !== undefined && !hasBit(this.validity, row)
  }

  /**
   * The value of a row; undefined where it is null. Text is given as its UTF-8, which fields check and copy as it is; 64-bit
   * integers as bigint; lists of numbers, of any depth, as arrays, lists of text as JSON.
   */
  at(row: number): Column | undefined {
    if (this.isNull(row)) return undefined
    return this.isList ? this.listAt(row) : this.item(row)
  }

  /** A row's text as a string. */
  textAt(row: number): string | undefined {
    const value = this.at(row)
    return value instanceof Uint8Array ? utf8Text(value) : value === undefined ? undefined : String(value)
  }

  private item(item: number): Uint8Array | number | bigint {
    return this.read === undefined
      ? this.bytesOf(item)
      : this.read(this.memory.data, this.values + item * this.width)
  }

  private bytesOf(item: number): Uint8Array {
    this.spanOf(item, found)
    return this.memory.u8.subarray(found.at, found.end)
  }

  private spanOf(item: number, out: Span): void {
    const { u32 } = this.memory
    const entry = this.codes < 0 ? item : u32[this.codes + item]
    if (this.valueOffsets < 0) {
      out.at = this.values + entry * this.width
      out.end = out.at + this.width
      return
    }
    const at = this.valueOffsets + entry
    out.end = this.values + u32[at + 1]
    // The text of a null may have no room for the gap before it.
    out.at = Math.min(this.values + u32[at] + this.gap, out.end)
  }

  private listAt(row: number): Column {
    const { u32, u8 } = this.memory
    const from = this.offsets < 0 ? row * (this.list - 2) : u32[this.offsets + row]
    const to = this.offsets < 0 ? from + this.list - 2 : u32[this.offsets + row + 1]
    if (this.read === undefined) return this.jsonOf(from, to)
    this.refuseNulls(from, to)
    const data = u8.subarray(this.values + from * this.width, this.values + to * this.width)
    const shape = this.dims < 0 ? [to - from] : this.shapeOf(row)
    return { dtype: this.items as StoredDtype, shape, tiles: [{ data }] }
  }

  /** Of lists in lists. */
  private shapeOf(row: number): number[] {
    const { u32 } = this.memory
    const depth = u32[this.dims]
    const at = this.dims + 1 + row * depth
    const shape = Array.from(u32.subarray(at, at + depth))
    if (shape[0] === RAGGED)
      throw new DecodeError(
        'lists of different lengths lie side by side, so they are no array: make them of one length, or store one list a row',
      )
    if (shape[0] === NULL_LIST)
      throw new DecodeError('a list in the list is null, so it is no array: store lists without nulls')
    return shape
  }

  /** Floats that are null are NaN; there is no such integer. */
  private refuseNulls(from: number, to: number): void {
    if (this.itemValidity === undefined || !this.nullItems) return
    for (let item = from; item < to; item++) {
      if (hasBit(this.itemValidity, item)) continue
      throw new DecodeError(
        `element ${item - from} of the list is null, and ${this.items} has no NaN: store floats, or lists without nulls`,
      )
    }
  }

  private jsonOf(from: number, to: number): string {
    if (this.items === 'bytes')
      throw new DecodeError('a list of bytes is no value of a field: store one value a row, or text')
    const texts: (string | null)[] = []
    for (let item = from; item < to; item++) {
      const isNull = this.itemValidity !== undefined && !hasBit(this.itemValidity, item)
      texts.push(isNull ? null : utf8Text(this.bytesOf(item)))
    }
    return JSON.stringify(texts)
  }
}

/** A column of a unit: row i of the unit is `view`'s row i + `skip`. */
export interface UnitColumn {
  view: ColumnView
  skip: number
}

const opened = new WeakMap<readonly Uint8Array[], readonly ColumnView[]>()

/** The columns of a loaded unit, whose pieces are columns one by one. Rows of a claim are given the same list: it is opened once. */
export function viewsOf(pieces: readonly Uint8Array[]): readonly ColumnView[] {
  let views = opened.get(pieces)
  if (views === undefined) {
    views = pieces.map(piece => new ColumnView(piece))
    opened.set(pieces, views)
  }
  return views
}
