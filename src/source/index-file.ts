/**
 * The index of a source as a file: flat little-endian columns that are used where they lie, by mmap.
 *
 *    0   8  "MILLRACE"
 *    8   4  format version, u32
 *   12   4  length H of the header, u32
 *   16   4  CRC-32 of the header, u32
 *   20  44  zeros
 *   64   H  header: JSON in UTF-8, see IndexHeader
 *    …      columns, each on a multiple of 64; their `at` counts from the first such multiple after the header
 *
 * A column of numbers is an array. A column of text is an array of length+1 offsets (u32, or f64 beyond 4 GiB)
 * and a blob of UTF-8. The file appears whole or not at all (see Draft); a file that was torn by something else
 * is told by magic, checksum and size.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { endianness } from 'node:os'
import { crc32 } from 'node:zlib'
import { SourceError } from '../errors.js'
import { Draft } from '../system/draft.js'
import { mapFile } from '../system/mmap.js'
import {
  type ColumnBuilder,
  NUMBER_ARRAYS,
  type NumberArray,
  type NumberType,
  TextBuilder,
} from './columns.js'

const MAGIC = 'MILLRACE'
const VERSION = 1
const FRONT = 64
const ALIGN = 64
/** Read at once when only the header is wanted: nearly every header fits. */
const FIRST_READ = 8192

interface ColumnPlace {
  type: NumberType | 'text'
  at: number
  length: number
  /** Text only: type of the offsets, and where the blob lies. */
  offsets?: 'u32' | 'f64'
  blob?: number
  blobBytes?: number
}

export interface IndexHeader {
  /** What is indexed: "tar", "files". */
  kind: string
  count: number
  /** Size of the whole file. */
  bytes: number
  columns: Record<string, ColumnPlace>
  /** Whatever the kind of source wants to know without touching the columns: digest, validity, names. */
  meta: Record<string, unknown>
  /** CRC-32 of the header's text: the identity of this very index. Not part of the text. */
  checksum: number
}

export interface TextColumn {
  readonly length: number
  at(row: number): string
  /** A copy of the value's bytes: whoever wrote to the mapped file would be killed by the system. */
  bytes(row: number): Uint8Array
}

const align = (n: number): number => Math.ceil(n / ALIGN) * ALIGN

/** Writes an index. The columns may have different lengths. */
export function writeIndex(
  path: string,
  kind: string,
  count: number,
  meta: Record<string, unknown>,
  columns: Readonly<Record<string, ColumnBuilder>>,
): void {
  const places: Record<string, ColumnPlace> = {}
  let end = 0
  for (const [name, column] of Object.entries(columns)) {
    places[name] = placeColumn(column, end)
    end = columnEnd(places[name])
  }
  const text = headerText({ kind, count, columns: places, meta }, end)
  const front = Buffer.alloc(align(FRONT + text.length))
  front.write(MAGIC, 'latin1')
  front.writeUInt32LE(VERSION, 8)
  front.writeUInt32LE(text.length, 12)
  front.writeUInt32LE(crc32(text), 16)
  front.set(text, FRONT)

  const draft = Draft.open(path)
  try {
    draft.write(front)
    for (const column of Object.values(columns)) {
      if (column instanceof TextBuilder) writePieces(draft, column.offsets.pieces(offsetType(column)))
      writePieces(draft, column.pieces())
    }
    draft.commit()
  } catch (error) {
    draft.discard()
    throw error
  }
}

/** The header alone, without mapping the file: what `open` needs. A torn or foreign file is a SourceError. */
export function readHeader(path: string): IndexHeader {
  const fd = openSync(path, 'r')
  try {
    const { size } = fstatSync(fd)
    let front = Buffer.alloc(Math.min(size, FIRST_READ))
    readSync(fd, front, 0, front.length, 0)
    const wanted = FRONT + headerLength(path, front, size)
    if (wanted > front.length) {
      front = Buffer.alloc(wanted)
      readSync(fd, front, 0, wanted, 0)
    }
    return parseHeader(path, front, size)
  } finally {
    closeSync(fd)
  }
}

/** An index, mapped. */
export class IndexFile {
  readonly header: IndexHeader
  private readonly buffer: ArrayBuffer
  private readonly start: number

  constructor(readonly path: string) {
    if (endianness() !== 'LE') throw new SourceError('Millrace needs a little-endian machine')
    this.buffer = mapFile(path)
    const bytes = Buffer.from(this.buffer)
    const length = headerLength(path, bytes, bytes.length)
    this.header = parseHeader(path, bytes, bytes.length)
    this.start = align(FRONT + length)
  }

  has(name: string): boolean {
    return name in this.header.columns
  }

  numbers(name: string): NumberArray {
    const { type, at, length } = this.place(name)
    if (type === 'text')
      throw new SourceError(`${this.path}: column "${name}" holds text`, { file: this.path })
    return new NUMBER_ARRAYS[type](this.buffer, this.start + at, length)
  }

  text(name: string): TextColumn {
    const { at, length, offsets: type, blob, blobBytes } = this.place(name)
    if (type === undefined || blob === undefined || blobBytes === undefined) {
      throw new SourceError(`${this.path}: column "${name}" holds numbers`, { file: this.path })
    }
    const offsets = new NUMBER_ARRAYS[type](this.buffer, this.start + at, length + 1)
    const bytes = Buffer.from(this.buffer, this.start + blob, blobBytes)
    return {
      length,
      at: row => bytes.toString('utf8', offsets[row], offsets[row + 1]),
      bytes: row => new Uint8Array(bytes.subarray(offsets[row], offsets[row + 1])),
    }
  }

  private place(name: string): ColumnPlace {
    const place = this.header.columns[name]
    if (place === undefined) {
      throw new SourceError(`${this.path}: no column "${name}": remove the file, it will be rebuilt`, {
        file: this.path,
      })
    }
    return place
  }
}

function placeColumn(column: ColumnBuilder, end: number): ColumnPlace {
  const at = align(end)
  if (!(column instanceof TextBuilder)) return { type: column.type, at, length: column.length }
  const offsets = offsetType(column)
  const blob = align(at + (column.length + 1) * NUMBER_ARRAYS[offsets].BYTES_PER_ELEMENT)
  return { type: 'text', at, length: column.length, offsets, blob, blobBytes: column.bytes }
}

function offsetType(column: TextBuilder): 'u32' | 'f64' {
  return column.bytes < 2 ** 32 ? 'u32' : 'f64'
}

function columnEnd({ type, at, length, blob = 0, blobBytes = 0 }: ColumnPlace): number {
  return type === 'text' ? blob + blobBytes : at + length * NUMBER_ARRAYS[type].BYTES_PER_ELEMENT
}

/** The header names the file's size, which depends on the header's length, which depends on the size's digits. */
function headerText(header: Omit<IndexHeader, 'bytes' | 'checksum'>, columnBytes: number): Buffer {
  let bytes = 0
  for (;;) {
    const text = Buffer.from(JSON.stringify({ ...header, bytes }))
    const size = align(FRONT + text.length) + align(columnBytes)
    if (size === bytes) return text
    bytes = size
  }
}

/** Writes a piece after the other, then zeros up to the next multiple of 64. */
function writePieces(draft: Draft, pieces: Iterable<Uint8Array>): void {
  for (const piece of pieces) draft.write(piece)
  draft.write(new Uint8Array(align(draft.bytes) - draft.bytes))
}

function headerLength(path: string, front: Buffer, size: number): number {
  if (front.length < FRONT || front.toString('latin1', 0, 8) !== MAGIC) {
    throw new SourceError(`${path} is not an index of Millrace`, { file: path })
  }
  const version = front.readUInt32LE(8)
  if (version !== VERSION)
    throw new SourceError(`${path} has format ${version}, not ${VERSION}`, { file: path })
  const length = front.readUInt32LE(12)
  if (FRONT + length > size)
    throw new SourceError(`${path} is torn: it ends within its header`, { file: path })
  return length
}

function parseHeader(path: string, front: Buffer, size: number): IndexHeader {
  const text = front.subarray(FRONT, FRONT + front.readUInt32LE(12))
  const checksum = crc32(text)
  if (checksum !== front.readUInt32LE(16)) {
    throw new SourceError(`${path} is torn: the checksum of its header is wrong`, { file: path })
  }
  const header = JSON.parse(text.toString()) as IndexHeader
  if (header.bytes !== size) {
    throw new SourceError(`${path} is torn: ${size} bytes instead of ${header.bytes}`, { file: path })
  }
  return { ...header, checksum }
}
