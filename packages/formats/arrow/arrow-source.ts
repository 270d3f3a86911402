/**
 * Arrow files while a feed runs: which file holds a row, and the small columns of all files' indexes as one. Each index is mapped
 * when one of its rows is first asked for.
 */

import type { Layout } from '../../core/source/layout.js'
import type {
  Columns,
  IndexColumn,
  Leaf,
  Manifest,
  Need,
  Pieces,
  Present,
  Source,
} from '../../core/source/source.js'
import { RowsOfFiles } from '../rows-of-files.js'
import { FileRows, OpenIndexes } from '../shared/file-rows.js'
import { UnitRefs } from '../shared/unit-refs.js'
import type { ArrowColumn } from './columns.js'
import { ArrowFile, type FileManifest } from './file.js'

export interface ArrowManifest extends Manifest {
  kind: 'arrow'
  files: FileManifest[]
  schemas: { columns: ArrowColumn[]; nodes: number }[]
  columns: string[]
  indexed: { name: string; type: 'number' | 'string' }[]
  /** First row of each unit; undefined: every value is read by itself, or lies in the index. */
  unitStarts?: Float64Array
  /** Whether a unit has to be unpacked. */
  packed: boolean
  /** Names of classes, by column. */
  classes: Record<string, string[]>
  layout: Layout
}

export class ArrowSource extends RowsOfFiles {
  // A source without units has none of these.
  readonly unitStarts?: Float64Array
  readonly planUnit?: Source['planUnit']
  readonly unitBytes?: Source['unitBytes']
  readonly load?: Source['load']
  override readonly indexed: readonly string[]
  private readonly refs = new UnitRefs(this as unknown as Leaf)
  /** The same for units. */
  private readonly units: FileRows
  /** Mapped when first needed: a maker may never touch most of them. */
  private readonly files: OpenIndexes<ArrowFile>

  constructor(private readonly manifest: ArrowManifest) {
    const { files, schemas } = manifest
    super(files, manifest.columns)
    this.units = new FileRows(files.map(({ units }) => units))
    this.files = new OpenIndexes(files.length, i => {
      const { columns, nodes } = schemas[files[i].schema]
      return new ArrowFile(files[i], columns, nodes)
    })
    this.indexed = manifest.indexed.map(({ name }) => name)
    if (manifest.unitStarts !== undefined) {
      this.unitStarts = manifest.unitStarts
      this.planUnit = (unit, columns) => {
        const own = this.units.locate(unit)
        return this.file(this.units.file).planUnit(own, columns)
      }
      this.unitBytes = (unit, columns) => {
        const own = this.units.locate(unit)
        return this.file(this.units.file).unitBytes(own, columns)
      }
    }
    if (manifest.packed && manifest.unitStarts !== undefined)
      this.load = (unit, pieces, into, columns) => {
        const own = this.units.locate(unit)
        return this.file(this.units.file).load(own, pieces, into, columns)
      }
  }

  where(row: number): { file: string; offset: number } {
    const own = this.rows.locate(row)
    const file = this.file(this.rows.file)
    return { file: file.manifest.file, offset: file.offset(own) }
  }

  present(row: number): Present {
    this.rows.locate(row)
    return this.file(this.rows.file).present
  }

  override index(name: string): IndexColumn | undefined {
    const found = this.manifest.indexed.find(column => column.name === name)
    if (found === undefined) return undefined
    const files = new OpenIndexes(this.manifest.files.length, i => ({ at: this.file(i).indexColumn(name) }))
    const at = (row: number): number | string | undefined => {
      const own = this.rows.locate(row)
      return files.of(this.rows.file).at?.(own)
    }
    return { type: found.type, at }
  }

  layout(): Layout {
    return this.manifest.layout
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    const own = this.rows.locate(row)
    const file = this.file(this.rows.file)
    if (!file.need(own, columns, out.ranges)) return
    const unit = this.units.starts[this.rows.file] + file.unitOf(own)
    out.units.push(this.refs.of(unit, columns))
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges, units }: Pieces): Columns {
    const own = this.rows.locate(row)
    return this.file(this.rows.file).sample(own, columns, ranges, units[0])
  }

  private file(i: number): ArrowFile {
    return this.files.of(i)
  }
}
