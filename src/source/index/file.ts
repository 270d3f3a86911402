/**
 * The index of a source as a file: flat little-endian columns that are used where they lie, by mmap. How the file is
 * laid out stands in index/header.ts.
 *
 * A column of numbers is an array. A column of text is an array of length+1 offsets (u32, or f64 beyond 4 GiB)
 * and a blob of UTF-8. The file appears whole or not at all (see Draft). What was changed since is told by checksums:
 * each column's is compared when the column is first used, once for all threads of the process.
 */
import { endianness } from 'node:os'
import { crc32 } from 'node:zlib'
import { SourceError } from '../../basics/errors.js'
import { Draft } from '../../system/files/draft.js'
import { type MappedFile, mapFile } from '../../system/memory/mmap.js'
import { type ColumnBuilder, NUMBER_ARRAYS, type NumberArray, TextBuilder } from './columns.js'
import {
  align,
  type ColumnPlace,
  checksumSeed,
  columnEnd,
  columnsStart,
  type IndexHeader,
  parseHeader,
  writeFront,
} from './header.js'
import { disown } from './trust.js'

export { type IndexHeader, readHeader } from './header.js'

/** Columns beyond this have no bit in the marks that threads share: each thread checks them for itself. */
const MARKS = 63

export interface TextColumn {
  readonly length: number
  at(row: number): string
  /** A copy of the value's bytes: whoever wrote to the mapped file would be killed by the system. */
  bytes(row: number): Uint8Array
}

/** Where an index is written: a path, or a draft that has no name. */
export type IndexTarget = string | Draft

/** Writes an index. The columns may have different lengths. */
export function writeIndex(
  target: IndexTarget,
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
  // The header has the columns' checksums, which are known when they are written: its room is left free until then.
  const room = writeFront({ kind, count, columns: places, meta }).length
  write(target, draft => {
    draft.write(new Uint8Array(room))
    for (const [name, column] of Object.entries(columns)) {
      let crc = checksumSeed(name, places[name])
      const text = column instanceof TextBuilder
      if (text) crc = writePieces(draft, column.offsets.pieces(offsetType(column)), crc, true)
      places[name].crc = hex(writePieces(draft, column.pieces(), crc, false))
    }
    draft.writeAt(writeFront({ kind, count, columns: places, meta }), 0)
  })
}

/** Writes an index again with another `meta`; its columns stay as they are. */
export function rewriteMeta(path: string, meta: Record<string, unknown>): void {
  const index = new IndexFile(path)
  const { kind, count, columns } = index.header
  write(path, draft => {
    draft.write(writeFront({ kind, count, columns, meta }))
    draft.write(index.columnBytes())
  })
}

function write(target: IndexTarget, work: (draft: Draft) => void): void {
  const draft = typeof target === 'string' ? Draft.open(target) : target
  try {
    work(draft)
    draft.commit()
  } catch (error) {
    draft.discard()
    throw error
  }
}

/** An index, mapped. */
export class IndexFile {
  readonly header: IndexHeader
  private readonly mapped: MappedFile
  private readonly start: number
  /** Columns that this thread knows to be whole. */
  private readonly whole = new Set<string>()

  constructor(
    readonly path: string,
    /** Found damaged in a run, the index is not used again: the next one who opens the data makes another. */
    private readonly running = false,
    /** The header, where it was read before. */
    known?: IndexHeader,
  ) {
    if (endianness() !== 'LE') throw new SourceError('Millrace needs a little-endian machine')
    this.mapped = running ? mapUsed(path) : mapFile(path)
    const bytes = Buffer.from(this.mapped.buffer)
    this.header = parseHeader(path, bytes, bytes.length, known)
    this.start = columnsStart(path, bytes, bytes.length)
  }

  has(name: string): boolean {
    return name in this.header.columns
  }

  numbers(name: string): NumberArray {
    const { type, at, length } = this.place(name)
    if (type === 'text')
      throw new SourceError(`${this.path}: column "${name}" holds text`, { file: this.path })
    return new NUMBER_ARRAYS[type](this.mapped.buffer, this.start + at, length)
  }

  text(name: string): TextColumn {
    const { at, length, offsets: type, blob, blobBytes } = this.place(name)
    if (type === undefined || blob === undefined || blobBytes === undefined) {
      throw new SourceError(`${this.path}: column "${name}" holds numbers`, { file: this.path })
    }
    const offsets = new NUMBER_ARRAYS[type](this.mapped.buffer, this.start + at, length + 1)
    const bytes = Buffer.from(this.mapped.buffer, this.start + blob, blobBytes)
    return {
      length,
      at: row => bytes.toString('utf8', offsets[row], offsets[row + 1]),
      bytes: row => new Uint8Array(bytes.subarray(offsets[row], offsets[row + 1])),
    }
  }

  /** Compares the checksums of all columns: some 4 GB/s. */
  check(): void {
    for (const [name, place] of Object.entries(this.header.columns)) this.compare(name, place)
  }

  /** All columns as they lie in the file. */
  columnBytes(): Uint8Array {
    return new Uint8Array(this.mapped.buffer, this.start)
  }

  /** A column that is whole: its checksum is compared when this process first asks for it. */
  private place(name: string): ColumnPlace {
    const place = this.header.columns[name]
    if (place === undefined) {
      throw new SourceError(`${this.path}: no column "${name}": remove the file, it will be rebuilt`, {
        file: this.path,
      })
    }
    try {
      this.compare(name, place)
    } catch (error) {
      if (this.running) disown(this.path, this.header.checksum)
      throw error
    }
    return place
  }

  private compare(name: string, place: ColumnPlace): void {
    if (this.whole.has(name)) return
    const { words, at } = this.mapped.marks
    const number = Object.keys(this.header.columns).indexOf(name)
    const mark = number < MARKS ? 1n << BigInt(number) : 0n
    if ((Atomics.load(words, at) & mark) !== 0n) {
      this.whole.add(name)
      return
    }
    const bytes = new Uint8Array(this.mapped.buffer, this.start + place.at, columnEnd(place) - place.at)
    if (hex(crc32(bytes, checksumSeed(name, place))) !== place.crc) {
      throw new SourceError(
        `${this.path} is damaged: the checksum of column "${name}" is wrong: start again, it is then rebuilt`,
        { file: this.path },
      )
    }
    Atomics.or(words, at, mark)
    this.whole.add(name)
  }
}

/** Maps an index that was there when the feed was opened. */
function mapUsed(path: string): MappedFile {
  try {
    return mapFile(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw new SourceError(`${path} is gone: the index was removed during the run; start again`, {
      file: path,
      cause,
    })
  }
}

function placeColumn(column: ColumnBuilder, end: number): ColumnPlace {
  const at = align(end)
  const crc = hex(0)
  if (!(column instanceof TextBuilder)) return { type: column.type, at, length: column.length, crc }
  const offsets = offsetType(column)
  const blob = align(at + (column.length + 1) * NUMBER_ARRAYS[offsets].BYTES_PER_ELEMENT)
  return { type: 'text', at, length: column.length, crc, offsets, blob, blobBytes: column.bytes }
}

function offsetType(column: TextBuilder): 'u32' | 'f64' {
  return column.bytes < 2 ** 32 ? 'u32' : 'f64'
}

/** Writes a piece after the other, then zeros up to the next multiple of 64. Goes on with a checksum, of the zeros too if `padded`. */
function writePieces(draft: Draft, pieces: Iterable<Uint8Array>, crc: number, padded: boolean): number {
  let sum = crc
  for (const piece of pieces) {
    draft.write(piece)
    sum = crc32(piece, sum)
  }
  const padding = new Uint8Array(align(draft.bytes) - draft.bytes)
  draft.write(padding)
  return padded ? crc32(padding, sum) : sum
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
