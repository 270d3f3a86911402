/**
 * A row is one step along the first axis of a file's arrays, of one file after the other. A row of an array that is stored in C
 * order is a range. An array that is deflated, or in Fortran's order, is needed as a whole: those of a file are its unit.
 */
import { lastAtMost } from '../../core/basics/search.js'
import type { Columns } from '../../core/source/column.js'
import type { ByteRange, IndexColumn, Leaf, Need, Pieces, Present, Source } from '../../core/source/source.js'
import { fileKey } from '../shared/file-key.js'
import { FileRows } from '../shared/file-rows.js'
import { UnitRefs } from '../shared/unit-refs.js'
import { ArrayRows, DIRECT, type Part, refusal, severalTexts } from './array-rows.js'
import { inflateMember } from './inflate-member.js'
import type { ArraysManifest } from './manifest.js'
import {
  type ArrayType,
  bytesOfRow,
  bytesOfType,
  hasRanges,
  isPlainType,
  rowArray,
  textOf,
} from './member.js'

export class AxisRows extends ArrayRows implements Source {
  readonly count: number
  readonly runs: Float64Array
  readonly indexed: readonly string[]
  private readonly rows: FileRows
  private readonly refs = new UnitRefs(this as unknown as Leaf)
  /** Files that have rows. */
  protected readonly units: Int32Array

  constructor(manifest: ArraysManifest) {
    super(manifest)
    const counts = Array.from(this.arrays.rows, rows => Math.max(0, rows))
    this.rows = new FileRows(counts)
    this.count = this.rows.count
    this.runs = this.rows.runs
    this.units = Int32Array.from(counts.keys()).filter(i => counts[i] > 0)
    this.indexed = ['file', 'key'].filter(name => !manifest.columns.includes(name))
  }

  id(row: number): string {
    const file = this.fileOf(row)
    return `${this.arrays.nameOf(file)}:${row - this.rows.starts[file]}`
  }

  key(row: number): string {
    const file = this.fileOf(row)
    return `${fileKey(this.arrays.nameOf(file))}:${row - this.rows.starts[file]}`
  }

  index(name: string): IndexColumn | undefined {
    if (!this.indexed.includes(name)) return undefined
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    return { type: 'string', at: row => this.arrays.nameOf(this.fileOf(row)) }
  }

  where(row: number): { file: string; offset: number } {
    const file = this.fileOf(row)
    const { arrays } = this
    const first = arrays.starts[file]
    const type = arrays.typeOf(first)
    const whole = arrays.isDeflated(first) || !hasRanges(type)
    const into = whole ? 0 : (row - this.rows.starts[file]) * bytesOfRow(type)
    return { file: arrays.pathOf(file), offset: arrays.offset(first) + into }
  }

  present(row: number): Present {
    return { columns: this.namesIn(this.fileOf(row)) }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    const file = this.fileOf(row)
    const { arrays } = this
    let [next, shared] = [0, false]
    for (const { member, type, piece } of this.ranged(file, columns)) {
      if (this.isShared(member, type)) shared = true
      else if (piece === next) {
        const bytes = bytesOfRow(type)
        out.ranges.push(arrays.range(file, member, (row - this.rows.starts[file]) * bytes, bytes))
        next++
      }
    }
    if (shared) out.units.push(this.refs.of(this.unitOf(file), columns))
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges, units }: Pieces): Columns {
    const file = this.fileOf(row)
    const { arrays } = this
    const at = row - this.rows.starts[file]
    const out: Columns = {}
    for (const part of this.ranged(file, columns)) {
      const { column, member, type, piece } = part
      if (this.isShared(member, type)) continue
      const bytes = bytesOfRow(type)
      const problem = refusal(part)
      if (problem) throw problem
      if (piece < 0) out[column] = rowArray(type, arrays.range(file, member, at * bytes, bytes), at)
      else out[column] = columnValue(part, ranges[piece], at)
    }
    if (units.length === 0) return out
    for (const part of this.shared(file, columns)) {
      const problem = refusal(part)
      if (problem) throw problem
      const whole = units[0][part.piece]
      const bytes = bytesOfRow(part.type)
      const data = hasRanges(part.type) ? whole.subarray(at * bytes, (at + 1) * bytes) : whole
      out[part.column] = columnValue(part, data, at)
    }
    return out
  }

  // ---------------------------------------------------------------- where things are

  /** Whether rows share the bytes of an array. */
  private isShared(member: number, type: ArrayType): boolean {
    return this.arrays.isDeflated(member) || !hasRanges(type)
  }

  private ranged(file: number, columns: readonly string[]): Part[] {
    return this.parts('ranged', file, columns, ({ member, type }) => {
      const later = isPlainType(type) && bytesOfRow(type) >= DIRECT
      return !later && !this.isShared(member, type)
    })
  }

  protected shared(file: number, columns: readonly string[]): Part[] {
    return this.parts('shared', file, columns, ({ member, type }) => this.isShared(member, type)).filter(
      ({ piece }) => piece >= 0,
    )
  }

  protected override takes({ shape, raw }: ArrayType, file: number): boolean {
    return !raw && shape.length > 0 && shape[0] === this.arrays.rows[file]
  }

  private fileOf(row: number): number {
    this.rows.locate(row)
    return this.rows.file
  }

  /** The number of a file among those that have rows. */
  private unitOf(file: number): number {
    return lastAtMost(this.runs, this.rows.starts[file])
  }
}

function columnValue(part: Part, data: Uint8Array, row: number): Columns[string] {
  const { type } = part
  if (type.text === undefined) return rowArray(type, data, row)
  if (type.shape.length > 1 || (type.inner ?? []).length > 0) throw severalTexts(part)
  return textOf(type, data, part.column)
}

/**
 * Rows along the first axis where some arrays are deflated or in Fortran's order: those of a file are its unit. They are
 * unpacked once, into the cache.
 */

/** Arrays in a unit begin on a cache line. */
const ALIGN = 64

export class AxisUnits extends AxisRows implements Leaf {
  readonly unitStarts: Float64Array

  constructor(manifest: ArraysManifest) {
    super(manifest)
    this.unitStarts = this.runs
  }

  planUnit(unit: number, columns: readonly string[]): ByteRange[] {
    const file = this.units[unit]
    return distinct(this.shared(file, columns)).map(({ member }) => this.arrays.range(file, member))
  }

  unitBytes(unit: number, columns: readonly string[]): number {
    return distinct(this.shared(this.units[unit], columns)).reduce((sum, part) => sum + this.roomOf(part), 0)
  }

  load(
    unit: number,
    pieces: readonly Uint8Array[],
    into: Uint8Array,
    columns: readonly string[],
  ): Uint8Array[] {
    const { arrays } = this
    const file = this.units[unit]
    let at = 0
    return distinct(this.shared(file, columns)).map((part, i) => {
      const { member, type } = part
      const room = into.subarray(
        at,
        at + (arrays.isDeflated(member) ? arrays.deflated(member).size : bytesOfType(type)),
      )
      at += this.roomOf(part)
      if (arrays.isDeflated(member))
        return inflateMember(arrays.range(file, member), pieces[i], room, arrays.deflated(member))
      arrays.check(file, member, pieces[i])
      room.set(pieces[i])
      return room
    })
  }

  private roomOf({ member, type }: Part): number {
    const { arrays } = this
    const bytes = arrays.isDeflated(member) ? arrays.deflated(member).size : bytesOfType(type)
    return Math.ceil(bytes / ALIGN) * ALIGN
  }
}

/** One part of each piece. */
function distinct(parts: readonly Part[]): Part[] {
  return parts.filter((part, i) => parts.findIndex(other => other.piece === part.piece) === i)
}
