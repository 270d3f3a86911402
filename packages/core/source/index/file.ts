/**
 * Reads the index of a source: a file of flat little-endian columns, which are used where they lie, by mmap. index/header.ts
 * says how the file is laid out, index/write.ts writes it.
 *
 * A column of numbers is an array. A column of text is an array of length+1 offsets (u32, or f64 beyond 4 GiB) and a blob
 * of UTF-8. Checksums tell whether a file was changed since: that of a column is compared when the column is first used,
 * once for all threads of the process.
 */

import { endianness } from 'node:os'
import { inFile, SourceError } from '../../basics/errors.js'
import { crc32 } from '../../codec/checksum.js'
import { type MappedFile, mapFile } from '../../system/memory/mmap.js'
import { NUMBER_ARRAYS, type NumberArray } from './columns.js'
import {
  type ColumnPlace,
  checksumSeed,
  checksumText,
  columnEnd,
  columnsStart,
  type IndexHeader,
  parseHeader,
} from './header.js'
import { disown } from './trust.js'

export { type IndexHeader, readHeader } from './header.js'

/** Columns beyond this have no bit in the marks that threads share: each thread checks them for itself. */
const MARKS = 63

export interface TextColumn {
  readonly length: number
  at(row: number): string
  /** A copy of the value's bytes: the system kills a process that writes to the mapped file. */
  bytes(row: number): Uint8Array
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
    /** A run uses it: if it proves damaged, it is not used again, and the next feed that opens the data makes another. */
    private readonly running = false,
    /** The header, where it was read before. */
    known?: IndexHeader,
  ) {
    if (endianness() !== 'LE') throw new SourceError('Millrace needs a little-endian machine')
    this.mapped = running ? mapUsed(path) : mapFile(path)
    const bytes = Buffer.from(this.mapped.buffer)
    try {
      this.header = parseHeader(path, bytes, bytes.length, known)
      this.start = columnsStart(path, bytes, bytes.length)
    } catch (error) {
      if (!running) throw error
      disown(path, 0)
      const { message } = error as Error
      throw new SourceError(`${message}: start again, it is then rebuilt`, { file: path, cause: error })
    }
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
    // The bits of the first columns, by which all threads know that these are whole.
    const column = Object.keys(this.header.columns).indexOf(name)
    const mark = column < MARKS ? 1n << BigInt(column) : 0n
    if ((Atomics.load(words, at) & mark) !== 0n) {
      this.whole.add(name)
      return
    }
    const bytes = new Uint8Array(this.mapped.buffer, this.start + place.at, columnEnd(place) - place.at)
    if (checksumText(crc32(bytes, checksumSeed(name, place))) !== place.crc) {
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

/** The index that a manifest names, in a thread that attaches to it. `of`: the file that it is of. */
export function attachedIndex(path: string, checksum: number, of?: string): IndexFile {
  const index = new IndexFile(path, true)
  if (index.header.checksum === checksum) return index
  throw inFile(
    of ?? path,
    of === undefined
      ? 'was rebuilt after the feed was opened: the data have changed, start again'
      : ': its index was rebuilt after the feed was opened: the file has changed, or another feed reads it in another way; start again',
  )
}
