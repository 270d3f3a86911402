/** One tar shard while a feed runs: maps its index, and says where the members of a sample lie. */

import { gunzipSync } from 'node:zlib'
import { DecodeError, SourceError } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import type { IndexFile, TextColumn } from '../../core/source/index/file.js'
import type { ByteRange, Columns, Present } from '../../core/source/source.js'
import { LARGEST_RANGE, tooLarge, type Version } from '../../core/store/store.js'
import { attachIndex, type IndexedFile } from '../indexed-files.js'
import { columnOf } from './column.js'

/** A gzipped member may unpack to this much where no field says what it can take: it is one value of one sample. */
const MOST_UNPACKED = 256 << 20

/** Room that is taken for a start. */
const FIRST_UNPACKED = 16 << 10

/** What becomes of an extension's members when certain columns are wanted. */
interface Wanted {
  /** The name under which the column was asked for. */
  name: string
  gzip: boolean
  /** Bytes that a gzipped member may unpack to. */
  most: number
  /** The values in the index, for those that need no read. */
  small: TextColumn | undefined
}

export class TarShard {
  readonly keyHashes: NumberArray
  private readonly keys: TextColumn
  private readonly ownKeys: TextColumn | undefined
  private readonly index: IndexFile
  private readonly starts: NumberArray
  private readonly extensions: NumberArray
  private readonly offsets: NumberArray
  private readonly sizes: NumberArray
  private readonly repeats: NumberArray | undefined
  private readonly extensionNames: string[]
  /** What every read of the shard is compared with. */
  private readonly was: Version
  /** By number of the extension. */
  private readonly wanted = new PerColumns(columns =>
    this.extensionNames.map(extension => this.want(extension, columns)),
  )

  constructor(
    readonly manifest: IndexedFile,
    private readonly most: Readonly<Record<string, number>> = {},
  ) {
    const { index, was } = attachIndex(manifest)
    this.index = index
    this.was = was
    this.keys = index.text('key')
    this.ownKeys = index.has('ownKey') ? index.text('ownKey') : undefined
    this.keyHashes = index.numbers('keyHash')
    this.starts = index.numbers('start')
    this.extensions = index.numbers('extension')
    this.offsets = index.numbers('offset')
    this.sizes = index.numbers('size')
    this.repeats = index.has('repeat') ? index.numbers('repeat') : undefined
    const names = index.text('extensions')
    this.extensionNames = Array.from({ length: names.length }, (_, i) => names.at(i))
  }

  /** What splits go by: the key in the members' names, or the one that `pack` kept beside them. */
  key(row: number): string {
    return this.ownKeys?.at(row) || this.keys.at(row)
  }

  id(row: number): string {
    const repeat = this.repeats?.[row] ?? 0
    const id = `${this.manifest.name}:${this.keys.at(row)}`
    return repeat === 0 ? id : `${id}#${repeat + 1}`
  }

  /** Where the sample's first member lies. */
  offset(row: number): number {
    return this.offsets[this.starts[row]]
  }

  /** The columns of a sample. Members of its key elsewhere in the shard, which readers take for another sample, are named. */
  present(row: number): Present {
    const columns = this.columnsOf(row)
    if (this.repeats === undefined) return { columns }
    const name = this.keys.at(row)
    const hash = this.keyHashes[row]
    for (let other = 0; other < this.keys.length; other++) {
      // Numbers first: very many samples may be bad, each of a shard of very many.
      if (this.keyHashes[other] !== hash || other === row || this.keys.at(other) !== name) continue
      const more = this.columnsOf(other).filter(column => !columns.includes(column))
      if (more.length === 0) continue
      return {
        columns,
        why:
          `Another sample of the same key "${name}", at byte ${this.offset(other)}, has ${more.join(', ')}: members of one ` +
          'sample must be adjacent in the tar; write it again sorted by name (tar --sort=name)',
      }
    }
    return { columns }
  }

  /** A small column as numbers or as text; undefined when this shard has no such column in its index. */
  numbers(column: string): NumberArray | undefined {
    return this.index.has(`number.${column}`) ? this.index.numbers(`number.${column}`) : undefined
  }

  texts(column: string): TextColumn | undefined {
    return this.index.has(`small.${column}`) ? this.index.text(`small.${column}`) : undefined
  }

  /** One range from the first wanted member to the last; none if the index has all that is wanted. */
  plan(row: number, columns: readonly string[]): ByteRange | undefined {
    const wanted = this.wanted.of(columns)
    let from = -1
    let to = 0
    for (let m = this.starts[row]; m < this.starts[row + 1]; m++) {
      const column = wanted[this.extensions[m]]
      if (column === undefined || column.small !== undefined) continue
      if (from < 0) from = this.offsets[m]
      to = this.offsets[m] + this.sizes[m]
    }
    if (from < 0) return undefined
    if (to - from > LARGEST_RANGE) throw this.tooLarge(row, from, to)
    return { file: this.manifest.file, offset: from, length: to - from, was: this.was }
  }

  sample(row: number, piece: Uint8Array | undefined, columns: readonly string[]): Columns {
    const wanted = this.wanted.of(columns)
    const out: Columns = {}
    let from = -1
    for (let m = this.starts[row]; m < this.starts[row + 1]; m++) {
      const column = wanted[this.extensions[m]]
      if (column === undefined) continue
      if (column.small !== undefined) {
        out[column.name] = column.small.bytes(row)
        continue
      }
      if (from < 0) from = this.offsets[m]
      const at = this.offsets[m] - from
      const bytes = (piece as Uint8Array).subarray(at, at + this.sizes[m])
      out[column.name] = column.gzip ? unpack(bytes, column) : bytes
    }
    return out
  }

  /** Names the largest member of those that would be read as one. */
  private tooLarge(row: number, from: number, to: number): SourceError {
    let large = -1
    for (let m = this.starts[row]; m < this.starts[row + 1]; m++)
      if (this.offsets[m] >= from && this.offsets[m] < to && !(this.sizes[m] <= this.sizes[large])) large = m
    const member = `${this.keys.at(row)}.${this.extensionNames[this.extensions[large]]}`
    const { file } = this.manifest
    const what = `member "${member}" (${this.sizes[large]} bytes at byte ${this.offsets[large]}): what is wanted of its sample`
    return new SourceError(tooLarge(file, from, to - from, what), { file, offset: from })
  }

  private columnsOf(row: number): string[] {
    const members = this.extensions.subarray(this.starts[row], this.starts[row + 1])
    return Array.from(members, extension => columnOf(this.extensionNames[extension]).column)
  }

  private want(extension: string, columns: readonly string[]): Wanted | undefined {
    const { column, gzip } = columnOf(extension)
    const name = columns.includes(column) ? column : columns.includes(extension) ? extension : undefined
    if (name === undefined) return undefined
    const most = Object.hasOwn(this.most, name) ? this.most[name] : MOST_UNPACKED
    return { name, gzip, most, small: this.texts(extension) }
  }
}

function unpack(bytes: Uint8Array, { name, most }: Wanted): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: most, chunkSize: FIRST_UNPACKED })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const problem =
      code === 'ERR_BUFFER_TOO_LARGE'
        ? `unpacks to more than ${most} bytes, which is all that the field can take: raise "max" or "shape", or store it unpacked`
        : `is no valid gzip: ${message}`
    throw new DecodeError(`the member for "${name}" ${problem}`, { cause: error })
  }
}
