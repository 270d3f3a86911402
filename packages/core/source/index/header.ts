/**
 * The header of an index file: where its columns lie, their checksums, and what its kind of source has to say.
 *
 *    0   8  "MILLRACE"
 *    8   4  format version, u32
 *   12   4  length H of the header, u32
 *   16   4  CRC-32 of the header, u32
 *   20  44  zeros
 *   64   H  header: JSON in UTF-8, see IndexHeader
 *    …      columns, each on a multiple of 64; their `at` counts from the first such multiple after the header
 *
 * All of it is checked before it is used: a file that is torn, foreign or malformed is a SourceError.
 */
import { closeSync, readSync, type Stats } from 'node:fs'
import { SourceError } from '../../basics/errors.js'
import { crc32 } from '../../codec/checksum.js'
import { openRegular } from '../../system/files/regular.js'
import { NUMBER_ARRAYS, type NumberType } from './columns.js'

const MAGIC = 'MILLRACE'
/** 2: checksums of the columns; what the indexed files were (inode, times, probes). */
const VERSION = 2
const FRONT = 64
const ALIGN = 64
/** Read at once when only the header is wanted: nearly every header fits. */
const FIRST_READ = 8192

export interface ColumnPlace {
  type: NumberType | 'text'
  at: number
  length: number
  /** CRC-32 of the column's name, type, length and bytes, in hexadecimal: always eight digits. */
  crc: string
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
  /** What the kind of source must know without reading the columns: digest, validity, names. */
  meta: Record<string, unknown>
  /** A CRC-32 of kind, count and columns: equal for indexes of equal contents. Not part of the text. */
  checksum: number
  /** CRC-32 of the header's text. Not part of it. */
  crc: number
}

export type HeaderText = Omit<IndexHeader, 'bytes' | 'checksum' | 'crc'>

export const align = (n: number): number => Math.ceil(n / ALIGN) * ALIGN

/** Where a column ends. */
export function columnEnd({ type, at, length, blob = 0, blobBytes = 0 }: ColumnPlace): number {
  return type === 'text' ? blob + blobBytes : at + length * NUMBER_ARRAYS[type].BYTES_PER_ELEMENT
}

/** What a column's checksum begins with, so that another name, type or length makes it wrong. */
export function checksumSeed(name: string, { type, length, offsets, blobBytes }: ColumnPlace): number {
  return crc32(JSON.stringify([name, type, length, offsets ?? null, blobBytes ?? null]))
}

/** The beginning of a file, up to its first column. */
export function writeFront(header: HeaderText): Buffer {
  const ends = Object.values(header.columns).map(columnEnd)
  const text = headerText(header, Math.max(0, ...ends))
  const front = Buffer.alloc(align(FRONT + text.length))
  front.write(MAGIC, 'latin1')
  front.writeUInt32LE(VERSION, 8)
  front.writeUInt32LE(text.length, 12)
  front.writeUInt32LE(crc32(text), 16)
  front.set(text, FRONT)
  return front
}

/** The header names the file's size, which depends on the header's length, which depends on the size's digits. */
function headerText(header: HeaderText, columnBytes: number): Buffer {
  let bytes = 0
  for (;;) {
    const text = Buffer.from(JSON.stringify({ ...header, bytes }))
    const size = align(FRONT + text.length) + align(columnBytes)
    if (size === bytes) return text
    bytes = size
  }
}

/** The header alone, without mapping the file: what `open` needs. `look` may refuse the file for what it is. */
export function readHeader(path: string, look?: (stats: Stats) => void): IndexHeader {
  const { fd, stats } = openRegular(path)
  try {
    look?.(stats)
    const { size } = stats
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

/** Where the first column begins. */
export function columnsStart(path: string, front: Buffer, size: number): number {
  return align(FRONT + headerLength(path, front, size))
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

/** The header in the beginning of a file. One that was parsed before is not parsed again, if it is the same. */
export function parseHeader(path: string, front: Buffer, size: number, known?: IndexHeader): IndexHeader {
  const length = headerLength(path, front, size)
  const text = front.subarray(FRONT, FRONT + length)
  const crc = crc32(text)
  if (crc === known?.crc && size === known.bytes) return known
  if (crc !== front.readUInt32LE(16)) {
    throw new SourceError(`${path} is torn: the checksum of its header is wrong`, { file: path })
  }
  let header: IndexHeader
  try {
    header = JSON.parse(text.toString()) as IndexHeader
  } catch (cause) {
    throw new SourceError(`${path} is malformed: its header is no JSON`, { file: path, cause })
  }
  if (isCount(header?.bytes) && header.bytes !== size) {
    throw new SourceError(`${path} is torn: ${size} bytes instead of ${header.bytes}`, { file: path })
  }
  const flaw = flawOf(header, size, size - align(FRONT + length))
  if (flaw !== undefined) throw new SourceError(`${path} is malformed: ${flaw}`, { file: path })
  const { kind, count, columns, meta, bytes } = header
  return { kind, count, columns, meta, bytes, checksum: contentsOf(header), crc }
}

/** Of kind, count and the columns' checksums, which have their names, types and lengths in them. */
function contentsOf({ kind, count, columns }: IndexHeader): number {
  let text = `${kind} ${count}`
  for (const { crc } of Object.values(columns)) text += ` ${crc}`
  return crc32(text)
}

/** What is wrong with the shape of a header, whose columns have `room` bytes. */
function flawOf(header: IndexHeader, size: number, room: number): string | undefined {
  if (!isObject(header) || !isObject(header.columns) || !isObject(header.meta)) return 'it has no header'
  if (typeof header.kind !== 'string') return 'it says of no kind of source'
  if (!isCount(header.count) || !isCount(header.bytes)) return 'its counts are no numbers'
  if (room < 0) return `it ends within its header, at byte ${size}`
  for (const [name, column] of Object.entries(header.columns)) {
    if (!isObject(column) || !isSound(column) || columnEnd(column) > room) {
      return `column "${name}" can't lie where the header says`
    }
  }
  return undefined
}

function isSound(column: ColumnPlace): boolean {
  const { type, at, length, crc, offsets, blob, blobBytes } = column
  if (!isCount(at) || at % ALIGN !== 0 || !isCount(length) || !/^[0-9a-f]{8}$/.test(String(crc))) return false
  if (type !== 'text')
    return Object.hasOwn(NUMBER_ARRAYS, type) && blob === undefined && offsets === undefined
  if ((offsets !== 'u32' && offsets !== 'f64') || !isCount(blob) || !isCount(blobBytes)) return false
  return blob === align(at + (length + 1) * NUMBER_ARRAYS[offsets].BYTES_PER_ELEMENT)
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** A CRC-32 as a header has it: eight hexadecimal digits. */
export function checksumText(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
