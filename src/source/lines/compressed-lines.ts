/** Compressed text files while a feed runs: rows lie in units that are decompressed together (seek.ts). */
import { DecodeError } from '../../basics/errors.js'
import { lastAtMost } from '../../basics/search.js'
import { decompressInto } from '../../codec/codec.js'
import { inflatePart } from '../../codec/gzip-part.js'
import type { Layout } from '../layout.js'
import type { ByteRange, Column, Leaf, Need, Pieces } from '../source.js'
import { UnitRefs } from '../unit-refs.js'
import { type LinesManifest, LinesSource } from './lines-source.js'
import type { TextFile } from './text-file.js'

/** What is kept of a unit is the same whatever is wanted of it. */
const WHOLE: readonly string[] = []

export class CompressedLines extends LinesSource implements Leaf {
  readonly unitStarts: Float64Array
  /** First unit of each file. */
  private readonly firsts: Float64Array
  private readonly refs = new UnitRefs(this)

  constructor(manifest: LinesManifest, units: Float64Array) {
    super(manifest)
    this.unitStarts = units
    this.firsts = Float64Array.from(manifest.files, ({ firstUnit }) => firstUnit ?? 0)
  }

  override where(row: number): { file: string; offset: number } {
    const [file, unit] = this.place(this.unitOf(row))
    return { file: file.manifest.file, offset: file.unitRange(unit).offset }
  }

  override need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length > 0) out.units.push(this.refs.of(this.unitOf(row), WHOLE))
  }

  planUnit(unit: number): ByteRange[] {
    const [file, inFile] = this.place(unit)
    return [file.unitRange(inFile)]
  }

  unitBytes(unit: number): number {
    const [file, inFile] = this.place(unit)
    return file.seek.bytes[inFile]
  }

  load(unit: number, [piece]: Uint8Array[], into: Uint8Array): Uint8Array[] {
    const [file, inFile] = this.place(unit)
    const { bit, bytes, window } = file.seek
    const whole = into.subarray(0, bytes[inFile])
    if (file.manifest.codec === 'gzip') inflatePart(piece, bit[inFile] % 8, window.bytes(inFile), whole)
    else if (decompressInto('zstd', piece, whole) !== whole.length)
      throw new DecodeError('the zstd data gives fewer bytes than it did when it was indexed')
    return [whole]
  }

  override sample(
    row: number,
    _epoch: number,
    columns: readonly string[],
    { units }: Pieces,
  ): Record<string, Column> {
    if (columns.length === 0) return {}
    const [file, unit] = this.place(this.unitOf(row))
    const inFile = this.rows.locate(row)
    const from = file.starts[inFile] - file.seek.made[unit]
    const bytes = units[0][0].subarray(from, from + file.starts[inFile + 1] - file.starts[inFile])
    return this.read(bytes, file, inFile, columns)
  }

  override layout(): Layout {
    const codecs = [...new Set(this.manifest.files.map(({ codec }) => codec as string))]
    const largest = this.unitStarts.reduce((most, _, unit) => Math.max(most, this.unitBytes(unit)), 0)
    const size =
      largest < 1 << 20 ? `${Math.ceil(largest / 1024)} KiB` : `${Math.ceil(largest / 2 ** 20)} MiB`
    return {
      ...super.layout(),
      chunks: `${this.unitStarts.length} units of up to ${size} that are decompressed as a whole`,
      codecs,
      slow:
        'A row can only be read with all that is compressed with it: shuffle by a window, or decompress the files for a ' +
        'global shuffle.',
    }
  }

  private unitOf(row: number): number {
    return lastAtMost(this.unitStarts, row)
  }

  /** The file of a unit, and the number of the unit there. */
  private place(unit: number): [TextFile, number] {
    const file = lastAtMost(this.firsts, unit)
    return [this.file(file), unit - this.firsts[file]]
  }
}
