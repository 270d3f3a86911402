/** Files that are compressed as a whole, while a feed runs: rows lie in units that are decompressed together (seek-table.ts). */
import { DecodeError, SourceError } from '../../core/basics/errors.js'
import { lastAtMost } from '../../core/basics/search.js'
import { decompressInto } from '../../core/codec/codec.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import { IndexFile, type TextColumn } from '../../core/source/index/file.js'
import type { Layout } from '../../core/source/layout.js'
import type { ByteRange } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { inflatePart } from './gzip-part.js'

export type PackedCodec = 'gzip' | 'zlib' | 'zstd'

/** What a manifest says of a file. */
export interface PackedFile {
  file: string
  index: string
  count: number
  /** How it is compressed, and the number of its first unit. */
  codec?: PackedCodec
  firstUnit?: number
}

/**
 * Numbers the units of all files, and gives the first row of each unit; undefined where no file is compressed. Files of both kinds
 * are refused.
 */
export function numberUnits(files: readonly PackedFile[]): Float64Array | undefined {
  const packed = files.find(({ codec }) => codec !== undefined)
  if (packed === undefined) return undefined
  const plain = files.find(({ codec, count }) => codec === undefined && count > 0)
  if (plain !== undefined) {
    throw new SourceError(
      `${packed.file} is compressed, and ${plain.file} is not: make a source of each kind, and join them by "concat"`,
      { file: plain.file },
    )
  }
  const starts: number[] = []
  let row = 0
  for (const file of files) {
    file.firstUnit = starts.length
    if (file.count > 0)
      for (const first of new IndexFile(file.index).numbers('unit.row')) starts.push(row + first)
    row += file.count
  }
  return Float64Array.from(starts)
}

/** The seek table of one file, in its index. */
export class Seek {
  readonly bit: NumberArray
  readonly made: NumberArray
  readonly bytes: NumberArray
  readonly window: TextColumn
  private readonly end: NumberArray

  constructor(
    index: IndexFile,
    private readonly file: string,
    private readonly was: Version,
  ) {
    this.bit = index.numbers('unit.bit')
    this.made = index.numbers('unit.made')
    this.end = index.numbers('unit.end')
    this.bytes = index.numbers('unit.bytes')
    this.window = index.text('unit.window')
  }

  /** The bytes of a unit, as they lie in the file. */
  range(unit: number): ByteRange {
    const offset = Math.floor(this.bit[unit] / 8)
    return { file: this.file, offset, length: this.end[unit] - offset, was: this.was }
  }
}

export class PackedUnits {
  /** First unit of each file. */
  private readonly firsts: Float64Array

  constructor(
    /** First row of each unit. */
    private readonly starts: Float64Array,
    private readonly files: readonly PackedFile[],
    private readonly seekOf: (file: number) => Seek,
  ) {
    this.firsts = Float64Array.from(files, ({ firstUnit }) => firstUnit ?? 0)
  }

  /** The unit of a row. */
  of(row: number): number {
    return lastAtMost(this.starts, row)
  }

  /** A unit's bytes in its file. */
  range(unit: number): ByteRange {
    const file = lastAtMost(this.firsts, unit)
    return this.seekOf(file).range(unit - this.firsts[file])
  }

  /** How many bytes a unit decompresses to. */
  bytes(unit: number): number {
    const file = lastAtMost(this.firsts, unit)
    return this.seekOf(file).bytes[unit - this.firsts[file]]
  }

  /** Where a unit begins in what its file decompresses to. */
  made(unit: number): number {
    const file = lastAtMost(this.firsts, unit)
    return this.seekOf(file).made[unit - this.firsts[file]]
  }

  load(unit: number, piece: Uint8Array, into: Uint8Array): Uint8Array {
    const file = lastAtMost(this.firsts, unit)
    const { bit, bytes, window } = this.seekOf(file)
    const at = unit - this.firsts[file]
    const whole = into.subarray(0, bytes[at])
    const { codec } = this.files[file]
    if (codec !== 'zstd') inflatePart(piece, bit[at] % 8, window.bytes(at), whole, codec)
    else if (decompressInto(codec, piece, whole) !== whole.length)
      throw new DecodeError('the zstd data gives fewer bytes than it did when it was indexed')
    return whole
  }

  layout(): Pick<Layout, 'chunks' | 'codecs' | 'slow'> {
    const largest = this.starts.reduce((most, _, unit) => Math.max(most, this.bytes(unit)), 0)
    const size =
      largest < 1 << 20 ? `${Math.ceil(largest / 1024)} KiB` : `${Math.ceil(largest / 2 ** 20)} MiB`
    return {
      chunks: `${this.starts.length} units of up to ${size} that are decompressed as a whole`,
      codecs: [...new Set(this.files.map(({ codec }) => codec as string))],
      slow:
        'A row can only be read with all that is compressed with it: shuffle by a window, or decompress the files for a ' +
        'global shuffle.',
    }
  }
}
