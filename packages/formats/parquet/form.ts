/** What the values of a leaf become in the cache, by their physical and logical type; and how much room a chunk of them takes. */
import type { StoredDtype } from '../../core/basics/array.js'
import type { ColumnRoom, ItemType } from '../../core/source/columnar/room.js'
import { ENCODING } from './names.js'
import type { ParquetLeaf } from './structure/schema.js'

export interface Form {
  items: ItemType
  /** Bytes of an item in the cache; 0: they vary. */
  width: number
  /** Bytes of a value as it is stored, PLAIN; 0: they vary, or are bits. */
  stored: number
  /** What has to be done to stored values. */
  change: 'none' | 'narrow' | 'bits' | 'int96' | 'decimal'
  /** Stored as INT32 or INT64. */
  isInteger: boolean
}

/** Arrays have no more axes. */
const MOST_DEPTH = 32
const TEXTS = ['string', 'enum', 'json']
/** Bits of the encodings by which a chunk has a dictionary. */
const DICTIONARIES = (1 << ENCODING.PLAIN_DICTIONARY) | (1 << ENCODING.RLE_DICTIONARY)

/** Bits of the encodings that write no four bytes of length before each value. */
const DELTAS = (1 << ENCODING.DELTA_LENGTH_BYTE_ARRAY) | (1 << ENCODING.DELTA_BYTE_ARRAY)

/** The form of a leaf; a text says why its values are not read. */
export function formOf(leaf: ParquetLeaf): Form | string {
  const { logical, repetition, definition, lists } = leaf
  const { kind = '' } = logical ?? {}
  if ((lists?.length ?? 0) > MOST_DEPTH) return `it has lists more than ${MOST_DEPTH} deep`
  if (definition > 250) return 'it is nested deeper than 250 levels'
  const form = kind === 'decimal' ? decimalForm(leaf) : itemForm(leaf, kind)
  if (typeof form === 'string' || repetition === 0) return form
  if (form.items === 'bytes') return 'it has lists of bytes: store one value a row, or text'
  if (form.items === 'text' && repetition > 1)
    return 'it has lists of texts within lists: store lists of one level'
  return form
}

function itemForm(leaf: ParquetLeaf, kind: string): Form | string {
  const { physical, logical, width } = leaf
  switch (physical) {
    case 'BOOLEAN':
      return { items: 'bool', width: 1, stored: 0, change: 'bits', isInteger: false }
    case 'INT32':
      return int32Form(leaf)
    case 'INT64':
      return plain(kind === 'integer' && logical?.signed === false ? 'u64' : 'i64', 8)
    case 'INT96':
      return { items: 'i64', width: 8, stored: 12, change: 'int96', isInteger: false }
    case 'FLOAT':
      return plain('f32', 4)
    case 'DOUBLE':
      return plain('f64', 8)
    case 'BYTE_ARRAY':
      return {
        items: TEXTS.includes(kind) ? 'text' : 'bytes',
        width: 0,
        stored: 0,
        change: 'none',
        isInteger: false,
      }
    case 'FIXED_LEN_BYTE_ARRAY':
      if (width === 0) return 'its values have no bytes'
      if (kind === 'float16' && width === 2) return plain('f16', 2)
      return { items: 'bytes', width, stored: width, change: 'none', isInteger: false }
  }
}

const plain = (items: StoredDtype, width: number): Form => ({
  items,
  width,
  stored: width,
  change: 'none',
  isInteger: /^[iu]/.test(items),
})

function int32Form({ logical }: ParquetLeaf): Form {
  const { kind, bits = 32, signed = true } = logical ?? {}
  if (kind !== 'integer' || bits > 16) return plain(kind === 'integer' && !signed ? 'u32' : 'i32', 4)
  const items = `${signed ? 'i' : 'u'}${bits === 8 ? 8 : 16}` as StoredDtype
  return { items, width: bits === 8 ? 1 : 2, stored: 4, change: 'narrow', isInteger: true }
}

/** Decimals become the nearest f64. */
function decimalForm({ physical, width }: ParquetLeaf): Form | string {
  if (physical === 'BYTE_ARRAY') return 'it has decimals of varying length: store doubles'
  const stored = physical === 'INT32' ? 4 : physical === 'INT64' ? 8 : width
  return stored === 0 || stored > 32
    ? `it has decimals of ${stored} bytes`
    : { items: 'f64', width: 8, stored, change: 'decimal', isInteger: physical !== 'FIXED_LEN_BYTE_ARRAY' }
}

/** The type in words, for `inspect`: `list<i32>`, `timestamp[us]`. */
export function typeName(leaf: ParquetLeaf): string {
  const { logical, physical, width } = leaf
  const form = formOf(leaf)
  const unit = logical?.unit ? `[${logical.unit}]` : ''
  const known = logical && !['integer', 'list', 'map', 'string', 'unknown'].includes(logical.kind)
  const stored = typeof form === 'string' ? physical.toLowerCase() : form.items
  const item = known ? `${logical.kind}${unit}` : width > 0 && stored === 'bytes' ? `bytes[${width}]` : stored
  return 'list<'.repeat(leaf.repetition) + item + '>'.repeat(leaf.repetition)
}

/** What is known of a part of a chunk before it is read. */
export interface ChunkSize {
  /** Rows and values of the pages, nulls included. */
  rows: number
  values: number
  /** Bytes of the pages, decompressed. */
  raw: number
  /** Bytes of all texts, where the file says so. */
  text: number
  encodings: number
  /** Entries that its dictionary, and values beside it, may have. */
  entries: number
}

/**
 * The sizes of a chunk. Each entry of a dictionary that is kept has a value that uses it. In `isPart`, which has values of some
 * rows and the dictionary of all, entries are bounded by their four bytes of length each; values beside the dictionary may lack
 * these.
 */
export function sizeOf(
  rows: number,
  values: number,
  raw: number,
  text: number,
  encodings: number,
  isPart = false,
): ChunkSize {
  const beside = (encodings & DELTAS) === 0 ? 0 : values
  const most = Math.floor(raw / GAP) + beside
  return { rows, values, raw, text, encodings, entries: isPart ? most : Math.min(values, most) }
}

const hasDictionary = (encodings: number): boolean => (encodings & DICTIONARIES) !== 0

/**
 * The room of a column. Texts keep the four bytes of length that PLAIN has before each: a page is then copied, or
 * decompressed, as a whole.
 */
export function roomOf(leaf: ParquetLeaf, form: Form, size: ChunkSize): ColumnRoom {
  const { rows, values } = size
  const isList = leaf.repetition > 0
  const nulls = isList ? leaf.elements > 1 : leaf.definition > 0
  const room: ColumnRoom = { rows, items: form.items, nulls }
  if (isList)
    room.list = { elements: values, nulls: leaf.definition > leaf.elements, depth: leaf.lists?.length ?? 0 }
  if (form.items === 'bytes' && form.width > 0) room.width = form.width
  if (form.width > 0) return room
  room.gap = GAP
  room.bytes = textBytes(size)
  if (hasDictionary(size.encodings)) room.dictionary = size.entries
  return room
}

/** Bytes before each text: its length. */
export const GAP = 4

function textBytes({ raw, text, values, encodings }: ChunkSize): number {
  let bytes = raw
  if (encodings & (1 << ENCODING.DELTA_LENGTH_BYTE_ARRAY)) bytes += GAP * values
  if (encodings & (1 << ENCODING.DELTA_BYTE_ARRAY)) bytes += text + GAP * values
  return bytes
}
