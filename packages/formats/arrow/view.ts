/**
 * Reads values where they lie in the buffers of a batch, or of a part of one: as views, without a copy. Buffers need not be
 * aligned. Every offset is checked before it is followed.
 */
import { bytesOfStored, isFloatDtype, type StoredDtype } from '../../core/basics/array.js'
import { READERS } from '../../core/basics/element.js'
import { DecodeError } from '../../core/basics/errors.js'
import type { ArrayColumn, Column } from '../../core/source/source.js'
import { utf8Text } from '../../core/source/texts.js'
import { decimalAt } from '../shared/decimal.js'
import { type ArrowColumn, elementsOf } from './columns.js'
import type { Field } from './metadata/schema.js'

/** The buffers of a unit, and what is known of its nodes. */
export interface UnitBuffers {
  /** The k-th buffer of a field; empty where it has none. */
  buffer(field: Field, k: number): Uint8Array
  /** Of views: how many buffers it has besides the usual ones. */
  more(field: Field): number
  /** How many values the unit has of it. */
  length(field: Field): number
  /** The bit of its first value, in the bytes of its bits. */
  bit(field: Field): number
  /** Whether its bits say something. */
  hasNulls(field: Field): boolean
  /** Its first offset is that of its first value: the unit is a part of a batch. */
  readonly sliced: boolean
  /** Entries of a dictionary, as they stand for the unit. */
  dictionary(field: Field): DictionaryEntries
}

export interface DictionaryEntries {
  readonly count: number
  /** The bytes of an entry; undefined: null. */
  at(code: number): Uint8Array | undefined
}

const EMPTY = new Uint8Array(0)

/** The values of one field. */
export class FieldView {
  readonly length: number
  private readonly validity: Uint8Array | undefined
  private readonly bit: number
  private readonly main: Uint8Array
  private readonly data: DataView
  private readonly bytes: Uint8Array
  private readonly views: Uint8Array[]
  private readonly base: number
  private readonly entries: DictionaryEntries | undefined
  private readonly read: ((data: DataView, at: number) => number | bigint) | undefined
  readonly children: FieldView[]

  constructor(
    readonly field: Field,
    unit: UnitBuffers,
  ) {
    const { form, items, dictionary } = field
    this.length = unit.length(field)
    this.validity = form !== 'none' && unit.hasNulls(field) ? unit.buffer(field, 0) : undefined
    this.bit = unit.bit(field)
    this.main = field.buffers > 1 ? unit.buffer(field, 1) : EMPTY
    this.data = new DataView(this.main.buffer, this.main.byteOffset, this.main.length)
    this.bytes = form === 'varying' ? unit.buffer(field, 2) : EMPTY
    this.views =
      form === 'view' ? Array.from({ length: unit.more(field) }, (_, k) => unit.buffer(field, 2 + k)) : []
    this.entries = dictionary && unit.dictionary(field)
    this.read = items === undefined || !(items in READERS) ? undefined : READERS[items as StoredDtype]
    this.children = field.children.map(child => new FieldView(child, unit))
    this.checkRoom()
    const offsets = form === 'varying' || form === 'list'
    this.base = offsets && unit.sliced && this.length > 0 ? this.offset(0) : 0
  }

  isNull(i: number): boolean {
    if (this.validity === undefined) return this.field.form === 'none'
    const bit = this.bit + i
    return (this.validity[bit >> 3] & (1 << (bit & 7))) === 0
  }

  hasNullIn(from: number, to: number): boolean {
    if (this.validity === undefined) return this.field.form === 'none' && to > from
    for (let i = from; i < to; i++) if (this.isNull(i)) return true
    return false
  }

  /** A value that is no list and not null. Text is given as its UTF-8. */
  value(i: number): number | bigint | Uint8Array | undefined {
    const { field } = this
    if (this.entries !== undefined) return this.entry(i, this.entries)
    if (field.form === 'bool') return this.isSet(i) ? 1 : 0
    if (field.form === 'varying') return this.bytes.subarray(...this.span(i, this.bytes.length))
    if (field.form === 'view') return this.viewed(i)
    const at = i * field.width
    if (this.read !== undefined) return this.read(this.data, at)
    if (field.items === 'decimal') return decimalAt(this.main.subarray(at, at + field.width), field.size)
    return this.main.subarray(at, at + field.width)
  }

  isSet(i: number): boolean {
    const bit = this.bit + i
    return (this.main[bit >> 3] & (1 << (bit & 7))) !== 0
  }

  /** The elements of a list: from the first to the one behind the last. */
  listSpan(i: number): [number, number] {
    const { length } = this.children[0]
    if (this.field.form !== 'array') return this.span(i, length)
    const to = (i + 1) * this.field.size
    if (to > length) throw new DecodeError(`column "${this.field.name}": a list reaches beyond its elements`)
    return [to - this.field.size, to]
  }

  /** The bytes of a value that is no list, as an entry of a dictionary keeps them. */
  entryBytes(i: number): Uint8Array {
    const { form } = this.field
    if (form === 'bool') return Uint8Array.of(this.isSet(i) ? 1 : 0)
    return form === 'fixed' ? this.elementBytes(i, i + 1) : (this.value(i) as Uint8Array)
  }

  /** Bytes of elements from…to−1, of a type of fixed width. */
  elementBytes(from: number, to: number): Uint8Array {
    const { width } = this.field
    return this.main.subarray(from * width, to * width)
  }

  private span(i: number, most: number): [number, number] {
    const from = this.offset(i) - this.base
    const to = this.offset(i + 1) - this.base
    if (from >= 0 && from <= to && to <= most) return [from, to]
    throw new DecodeError(
      `column "${this.field.name}": value ${i} of the batch is said to be ${from} to ${to} of ${most}: ` +
        'its offsets are damaged: write the file again',
    )
  }

  private offset(i: number): number {
    if (this.field.width === 4) return this.data.getInt32(4 * i, true)
    return this.data.getInt32(8 * i + 4, true) * 2 ** 32 + this.data.getUint32(8 * i, true)
  }

  /** Up to 12 bytes lie in the view itself; longer ones in one of the buffers. */
  private viewed(i: number): Uint8Array {
    const at = 16 * i
    const length = this.data.getInt32(at, true)
    if (length >= 0 && length <= 12) return this.main.subarray(at + 4, at + 4 + length)
    const buffer = this.views[this.data.getInt32(at + 8, true)]
    const offset = this.data.getInt32(at + 12, true)
    if (length > 0 && buffer !== undefined && offset >= 0 && offset + length <= buffer.length)
      return buffer.subarray(offset, offset + length)
    throw new DecodeError(
      `column "${this.field.name}": value ${i} of the batch is a view of ${length} bytes at ${offset}, out of its buffers: ` +
        'write the file again',
    )
  }

  private entry(i: number, entries: DictionaryEntries): number | bigint | Uint8Array | undefined {
    const code = Number(this.read!(this.data, i * this.field.width))
    if (!(code >= 0 && code < entries.count))
      throw new DecodeError(
        `column "${this.field.name}": value ${i} of the batch is code ${code} of a dictionary of ${entries.count}: ` +
          'write the file again',
      )
    const bytes = entries.at(code)
    return bytes && entryValue(this.field.dictionary!.values, bytes)
  }

  private checkRoom(): void {
    const { form, width, name } = this.field
    const { length, bit } = this
    const bits = Math.ceil((bit + length) / 8)
    const wanted =
      length === 0 || this.field.buffers < 2
        ? 0
        : form === 'bool'
          ? bits
          : form === 'fixed' || form === 'view'
            ? length * width
            : (length + 1) * width
    if ((this.validity === undefined || this.validity.length >= bits) && this.main.length >= wanted) return
    throw new DecodeError(
      `column "${name}": ${length} values take ${wanted} bytes, and there are ${this.main.length}`,
    )
  }
}

/** An entry of a dictionary: kept as the bytes of its value; a bool as one byte. */
function entryValue({ items, form, size }: Field, bytes: Uint8Array): number | bigint | Uint8Array {
  if (items === 'decimal') return decimalAt(bytes, size)
  if (items === undefined || items === 'text' || items === 'bytes') return bytes
  if (form === 'bool') return bytes[0]
  return READERS[items](new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0)
}

/** One column of a unit. */
export class ColumnView {
  private readonly within: FieldView[]
  private readonly own: FieldView

  constructor(
    private readonly column: ArrowColumn,
    unit: UnitBuffers,
  ) {
    // The structs around it are asked for nulls only.
    this.within = column.within.map(field => new FieldView({ ...field, children: [] }, unit))
    this.own = new FieldView(column.field, unit)
  }

  /** The value of a row; undefined where it is null. */
  at(row: number): Column | undefined {
    if (this.own.isNull(row) || this.within.some(struct => struct.isNull(row))) return undefined
    switch (this.column.kind) {
      case 'null':
        return undefined
      case 'array':
        return arrayOf(this.own, row)
      case 'json':
        return JSON.stringify(jsonOf(this.own, row), bigText)
      default:
        return this.own.value(row)
    }
  }
}

/** Integers beyond 2^53 are texts in JSON. */
const bigText = (_: string, value: unknown): unknown => {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Lists of numbers: all lists of one depth must be of one length. */
function arrayOf(view: FieldView, row: number): ArrayColumn {
  const { lists, elements } = elementsOf(view.field)
  const shape: number[] = []
  let [from, to] = [row, row + 1]
  let at = view
  for (const list of lists) {
    const [first, length] = oneLength(at, from, to, lists.length > 1)
    shape.push(...(list.shape ?? [length]))
    to = first + (to - from) * length
    from = first
    at = at.children[0]
    if (list !== lists.at(-1)) refuseNulls(at, from, to, 'a list in it')
  }
  const dtype = elements.items === 'decimal' ? 'f64' : (elements.items as StoredDtype)
  return { dtype, shape, tiles: [{ data: elementsIn(at, from, to) }] }
}

/** Where the elements of lists begin, and how many each has. */
function oneLength(view: FieldView, from: number, to: number, nested: boolean): [number, number] {
  if (to === from) return [0, view.field.form === 'array' ? view.field.size : 0]
  const [first, end] = view.listSpan(from)
  if (!nested || view.field.form === 'array') return [first, end - first]
  for (let i = from + 1; i < to; i++) {
    const [begin, stop] = view.listSpan(i)
    if (stop - begin === end - first && begin === first + (i - from) * (end - first)) continue
    throw new DecodeError(
      `column "${view.field.name}": lists of ${end - first} and of ${stop - begin} elements lie side by side, so they are no array: ` +
        'make them of one length, or store one list a row',
    )
  }
  return [first, end - first]
}

/** The bytes of elements, which are numbers. Floats that are null are NaN. */
function elementsIn(view: FieldView, from: number, to: number): Uint8Array {
  const { form, items, width } = view.field
  if (form === 'bool') {
    refuseNulls(view, from, to, 'an element')
    return Uint8Array.from({ length: to - from }, (_, i) => (view.isSet(from + i) ? 1 : 0))
  }
  if (items === 'decimal') return decimalsIn(view, from, to)
  const bytes = view.elementBytes(from, to)
  if (!view.hasNullIn(from, to)) return bytes
  if (!isFloatDtype(items as StoredDtype)) refuseNulls(view, from, to, 'an element')
  const nan = NANS[bytesOfStored(items as StoredDtype)]
  const copy = bytes.slice()
  for (let i = from; i < to; i++) if (view.isNull(i)) copy.set(nan, (i - from) * width)
  return copy
}

function decimalsIn(view: FieldView, from: number, to: number): Uint8Array {
  const numbers = new Float64Array(to - from)
  for (let i = from; i < to; i++) numbers[i - from] = view.isNull(i) ? Number.NaN : (view.value(i) as number)
  return new Uint8Array(numbers.buffer)
}

/** By bytes of a float. */
const NANS: Record<number, Uint8Array> = {
  2: Uint8Array.of(0, 0x7e),
  4: new Uint8Array(Float32Array.of(Number.NaN).buffer),
  8: new Uint8Array(Float64Array.of(Number.NaN).buffer),
}

function refuseNulls(view: FieldView, from: number, to: number, what: string): void {
  if (!view.hasNullIn(from, to)) return
  throw new DecodeError(
    `column "${view.field.name}": ${what} is null, and ${view.field.type} has no NaN: store floats, or lists without nulls`,
  )
}

function jsonOf(view: FieldView, i: number): unknown {
  if (view.isNull(i)) return null
  const { form, items, children } = view.field
  if (form === 'struct')
    return Object.fromEntries(children.map((child, k) => [child.name, jsonOf(view.children[k], i)]))
  if (form === 'list' || form === 'array') {
    const [from, to] = view.listSpan(i)
    return Array.from({ length: to - from }, (_, k) => jsonOf(view.children[0], from + k))
  }
  const value = view.value(i)
  if (form === 'bool') return value === 1
  return items === 'text' && value instanceof Uint8Array ? utf8Text(value) : value
}
