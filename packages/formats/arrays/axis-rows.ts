/**
 * A row is one step along the first axis of a file's arrays, of one file after the other. A row of an array that is stored in C
 * order is a range. An array that is deflated, or in Fortran's order, is needed as a whole: those of a file are its unit.
 */

import type { IndexColumn, Leaf, Need, Pieces, Present, Source } from '../../core/source/source.js'
import { fileKey } from '../shared/file-key.js'
import { UnitRefs } from '../shared/unit-refs.js'
import { ArrayRows, type Columns, DIRECT, type Part, refusal, severalTexts } from './array-rows.js'
import type { ArraysManifest } from './manifest.js'
import { type ArrayType, bytesOfRow, hasRanges, isPlainType, rowArray, textOf } from './member.js'

export class AxisRows extends ArrayRows implements Source {
  readonly count: number
  readonly runs: Float64Array
  readonly indexed: readonly string[]
  /** First row of each file, and the count at the end. */
  private readonly starts: Float64Array
  private readonly refs = new UnitRefs(this as unknown as Leaf)
  /** Files that have rows. */
  protected readonly units: Int32Array
  /** The file of the last row: the next is mostly there too. */
  private last = 0

  constructor(manifest: ArraysManifest) {
    super(manifest)
    const { rows, files } = this.arrays
    this.starts = new Float64Array(files + 1)
    for (let i = 0; i < files; i++) this.starts[i + 1] = this.starts[i] + rows[i]
    this.count = this.starts[files]
    this.units = Int32Array.from({ length: files }, (_, i) => i).filter(i => rows[i] > 0)
    this.runs = Float64Array.from(this.units, file => this.starts[file])
    this.indexed = ['file', 'key'].filter(name => !manifest.columns.includes(name))
  }

  id(row: number): string {
    const file = this.fileOf(row)
    return `${this.arrays.nameOf(file)}:${row - this.starts[file]}`
  }

  key(row: number): string {
    const file = this.fileOf(row)
    return `${fileKey(this.arrays.nameOf(file))}:${row - this.starts[file]}`
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
    const into = whole ? 0 : (row - this.starts[file]) * bytesOfRow(type)
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
        out.ranges.push(arrays.range(file, member, (row - this.starts[file]) * bytes, bytes))
        next++
      }
    }
    if (shared) out.units.push(this.refs.of(this.unitOf(file), columns))
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges, units }: Pieces): Columns {
    const file = this.fileOf(row)
    const { arrays } = this
    const at = row - this.starts[file]
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
    const { starts } = this
    if (row >= starts[this.last] && row < starts[this.last + 1]) return this.last
    let low = 0
    let high = starts.length - 1
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (starts[middle] <= row) low = middle
      else high = middle
    }
    this.last = low
    return low
  }

  /** The number of a file among those that have rows. */
  private unitOf(file: number): number {
    const { units } = this
    let low = 0
    let high = units.length
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (units[middle] <= file) low = middle
      else high = middle
    }
    return low
  }
}

function columnValue(part: Part, data: Uint8Array, row: number): Columns[string] {
  const { type } = part
  if (type.text === undefined) return rowArray(type, data, row)
  if (type.shape.length > 1 || (type.inner ?? []).length > 0) throw severalTexts(part)
  return textOf(type, data, part.column)
}
