/** Compressed text files while a feed runs: rows lie in units that are decompressed together. */
import type { Layout } from '../../core/source/layout.js'
import type { ByteRange, Column, Leaf, Need, Pieces } from '../../core/source/source.js'
import { PackedUnits } from '../packed/units.js'
import { UnitRefs } from '../shared/unit-refs.js'
import { type LinesManifest, LinesSource } from './lines-source.js'

/** What is kept of a unit is the same whatever is wanted of it. */
const WHOLE: readonly string[] = []

export class CompressedLines extends LinesSource implements Leaf {
  private readonly units: PackedUnits
  private readonly refs = new UnitRefs(this)

  constructor(
    manifest: LinesManifest,
    readonly unitStarts: Float64Array,
  ) {
    super(manifest)
    this.units = new PackedUnits(unitStarts, manifest.files, file => this.file(file).seek)
  }

  override where(row: number): { file: string; offset: number } {
    const { file, offset } = this.units.range(this.units.of(row))
    return { file, offset }
  }

  override need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length > 0) out.units.push(this.refs.of(this.units.of(row), WHOLE))
  }

  planUnit(unit: number): ByteRange[] {
    return [this.units.range(unit)]
  }

  unitBytes(unit: number): number {
    return this.units.bytes(unit)
  }

  load(unit: number, [piece]: Uint8Array[], into: Uint8Array): Uint8Array[] {
    return [this.units.load(unit, piece, into)]
  }

  override sample(
    row: number,
    _epoch: number,
    columns: readonly string[],
    { units }: Pieces,
  ): Record<string, Column> {
    if (columns.length === 0) return {}
    const inFile = this.rows.locate(row)
    const file = this.file()
    const from = file.starts[inFile] - this.units.made(this.units.of(row))
    const bytes = units[0][0].subarray(from, from + file.starts[inFile + 1] - file.starts[inFile])
    return this.read(bytes, file, inFile, columns)
  }

  override layout(): Layout {
    return { ...super.layout(), ...this.units.layout() }
  }
}
