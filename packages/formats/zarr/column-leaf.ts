/**
 * A column of arrays while a feed runs: which chunks a row needs, where they lie, and the row in what was read of them. A
 * chunk is a unit. Where chunks are stored as they are, and a row lies in one piece in them, its bytes are read alone.
 *
 *   row of an array      one tile a chunk that it goes through: a view of the loaded chunk, with the strides that it has there
 *   chunk not stored     a tile of one element, the fill value, with strides of 0
 */
import { DecodeError, inFile, type SourceError } from '../../core/basics/errors.js'
import { lastAtMost } from '../../core/basics/search.js'
import type { ArrayColumn, Column, Columns, Leaf, Need, Pieces, Tile } from '../../core/source/source.js'
import { textOfPoints, withoutZeros } from '../../core/source/texts.js'
import type { ByteRange } from '../../core/store/store.js'
import { ABSENT, type ColumnManifest } from './column-tables.js'
import { decodeChunk } from './decode-chunk.js'
import { gridOf, numberAt, placeAt } from './grid.js'
import { type ArrayKind, chunkBytes, keyOf } from './meta/array-meta.js'
import type { Element } from './meta/element.js'
import { shardShape } from './shard-index.js'
import { versionAt } from './versions.js'
import { isVlen, loadVlen, vlenBytes, vlenFill, vlenValue } from './vlen.js'

/** Rows of this many bytes go from the file straight into the batch; smaller ones are read together with their neighbours. */
const DIRECT = 65536

/** What follows from how arrays are made. */
interface Cut {
  kind: ArrayKind
  /** Bytes of a chunk, and from one element to the next along each axis. */
  bytes: number
  strides: number[]
  /** Bytes of a row in a chunk that is stored as it is and has its rows in one piece; 0 where it is none. */
  rowBytes: number
}

/** An array: that of the part that was asked for last is kept. */
interface PartCut extends Cut {
  part: number
  firstUnit: number
  shape: number[]
  /** Of a row: with another axis of two for complex numbers. */
  rowShape: number[]
  /** Chunks along each axis, and how many there are across a row. */
  grid: number[]
  across: number
  /** A row is one whole row of one chunk, in C order. */
  whole: boolean
  text: boolean
  vlen: boolean
}

export class ColumnLeaf implements Leaf {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly unitStarts: Float64Array
  /** Whether rows are read without units. */
  readonly plain: boolean
  private readonly cuts: Cut[]
  private last: PartCut | undefined

  constructor(
    readonly manifest: ColumnManifest,
    rowStarts: Float64Array,
    private readonly idOf: (row: number) => string,
  ) {
    this.count = rowStarts[rowStarts.length - 1]
    this.columns = [manifest.name]
    this.runs = rowStarts
    this.unitStarts = manifest.unitStarts
    this.cuts = manifest.kinds.map(cutOf)
    this.plain = this.cuts.every(({ rowBytes }) => rowBytes > 0)
  }

  id(row: number): string {
    return this.idOf(row)
  }

  key(row: number): string {
    return this.idOf(row)
  }

  index(): undefined {
    return undefined
  }

  has(part: number): boolean {
    return this.manifest.kindOf[part] >= 0
  }

  /** Where the first bytes of a row lie. */
  place(part: number, row: number): { file: string; offset: number } | undefined {
    const cut = this.partCut(part)
    const unit = this.firstUnitOf(cut, row)
    if (cut.across === 0 || this.manifest.lengths[unit] === ABSENT) return undefined
    const { file, offset } = this.rangeOf(part, unit)
    return { file, offset }
  }

  need(_row: number, _epoch: number, _columns: readonly string[], _out: Need): void {
    throw new Error('a column is asked by its part')
  }

  sample(_row: number, _epoch: number, _columns: readonly string[], _got: Pieces): Columns {
    throw new Error('a column is asked by its part')
  }

  /** Adds what a row of a part needs. */
  needPart(part: number, row: number, out: Need): void {
    const cut = this.partCut(part)
    if (this.isDirect(cut)) return
    const first = this.firstUnitOf(cut, row)
    for (let unit = first; unit < first + cut.across; unit++) {
      if (this.manifest.lengths[unit] === ABSENT) continue
      if (this.plain) out.ranges.push(this.rowRange(cut, row, unit))
      else out.units.push({ leaf: this, unit, columns: this.columns })
    }
  }

  /** The value of a row, of what `needPart` asked for: `next` gives it piece by piece. */
  valueOf(part: number, row: number, next: () => Uint8Array): Column {
    const cut = this.partCut(part)
    const first = this.firstUnitOf(cut, row)
    const { lengths } = this.manifest
    const inChunk = row % cut.kind.chunk[0]
    if (cut.vlen) return lengths[first] === ABSENT ? vlenFill(cut.kind) : vlenValue(cut.kind, next(), inChunk)
    if (cut.text) {
      const { element } = cut.kind
      if (lengths[first] === ABSENT) return fixedText(element, cut.kind.fill, false) ?? ''
      const data = next()
      const at = this.plain ? 0 : inChunk * cut.strides[0]
      const text = fixedText(element, data.subarray(at, at + element.bytes))
      if (text !== undefined) return text
      const { file, offset } = this.rangeOf(part, first)
      throw new DecodeError(
        `${file}: the chunk at offset ${offset} has a text with a code point that is no character: write it again`,
      )
    }
    const { dtype, bigEndian } = cut.kind.element
    const tiles: Tile[] = []
    for (let unit = first; unit < first + cut.across; unit++) {
      if (lengths[unit] === ABSENT) tiles.push(this.fillTile(cut, unit))
      else if (this.isDirect(cut)) tiles.push({ data: this.rowRange(cut, row, unit), bigEndian })
      else {
        const data = next()
        const begin = this.plain ? 0 : inChunk * cut.strides[0]
        if (cut.whole)
          tiles.push({ data: this.plain ? data : data.subarray(begin, begin + cut.strides[0]), bigEndian })
        else
          tiles.push({
            data: data.subarray(begin),
            bigEndian,
            ...this.boxOf(cut, unit),
            strides: tileStrides(cut),
          })
      }
    }
    const array: ArrayColumn = { dtype, shape: cut.rowShape, tiles }
    return array
  }

  planUnit(unit: number): ByteRange[] {
    return [this.rangeOf(this.partOfUnit(unit), unit)]
  }

  unitBytes(unit: number): number {
    const { kindOf, contents } = this.manifest
    const { kind, bytes } = this.cuts[kindOf[this.partOfUnit(unit)]]
    return isVlen(kind) ? vlenBytes(kind, contents![unit]) : bytes
  }

  load(unit: number, [stored]: Uint8Array[], into: Uint8Array): Uint8Array[] {
    const part = this.partOfUnit(unit)
    const { kind } = this.cuts[this.manifest.kindOf[part]]
    const bytes = this.unitBytes(unit)
    const chunk = into.subarray(0, bytes)
    let made: number
    try {
      made = isVlen(kind) ? loadVlen(kind, stored, chunk) : decodeChunk(kind.steps, stored, chunk)
    } catch (error) {
      throw this.badChunk(part, unit, (error as Error).message, error)
    }
    if (made !== bytes) throw this.badChunk(part, unit, `it has ${made} bytes, and should have ${bytes}`)
    return [chunk]
  }

  private badChunk(part: number, unit: number, what: string, cause?: unknown): SourceError {
    const { file, offset } = this.rangeOf(part, unit)
    return inFile(file, `: the chunk at offset ${offset} can't be read: ${what}; copy or write it again`, {
      offset,
      cause,
    })
  }

  /** The bytes of a chunk. */
  private rangeOf(part: number, unit: number): ByteRange {
    const { folders, archives, firstObject, lengths, offsets, versions } = this.manifest
    const cut = this.partCut(part)
    const { kind, shape, grid } = cut
    let place = placeAt(grid, unit - cut.firstUnit)
    let objects = grid
    if (kind.shards.length > 0) {
      const shard = shardShape(kind)
      objects = gridOf(shape, shard)
      place = place.map((cell, axis) => Math.floor((cell * kind.chunk[axis]) / shard[axis]))
    }
    const object = firstObject[part] + numberAt(objects, place)
    const file = archives[part] ? folders[part] : `${folders[part]}/${keyOf(kind.keys, place)}`
    return { file, offset: offsets[unit], length: lengths[unit], was: versionAt(versions, object) }
  }

  /** The bytes of a row in a chunk that is stored as it is. */
  private rowRange(cut: PartCut, row: number, unit: number): ByteRange {
    const range = this.rangeOf(cut.part, unit)
    range.offset += (row % cut.kind.chunk[0]) * cut.rowBytes
    range.length = cut.rowBytes
    return range
  }

  private isDirect({ whole, rowBytes, text }: PartCut): boolean {
    return this.plain && whole && !text && rowBytes >= DIRECT
  }

  /** The part of a row that a chunk holds. */
  private boxOf(cut: PartCut, unit: number): { at: number[]; shape: number[] } {
    const { kind, shape, grid, firstUnit } = cut
    const place = placeAt(grid, unit - firstUnit)
    const [at, sides]: [number[], number[]] = [[], []]
    for (let axis = 1; axis < shape.length; axis++) {
      const begin = place[axis] * kind.chunk[axis]
      at.push(begin)
      sides.push(Math.min(kind.chunk[axis], shape[axis] - begin))
    }
    if (kind.element.form === 'complex') {
      at.push(0)
      sides.push(2)
    }
    return { at, shape: sides }
  }

  private fillTile(cut: PartCut, unit: number): Tile {
    const strides = cut.rowShape.map(() => 0)
    if (cut.kind.element.form === 'complex') strides[strides.length - 1] = cut.kind.element.bytes / 2
    return { data: cut.kind.fill, ...this.boxOf(cut, unit), strides }
  }

  private firstUnitOf({ firstUnit, kind, across }: PartCut, row: number): number {
    return firstUnit + Math.floor(row / kind.chunk[0]) * across
  }

  private partOfUnit(unit: number): number {
    const { firstUnit } = this.manifest
    let part = lastAtMost(firstUnit, unit, 0, firstUnit.length - 2)
    while (firstUnit[part + 1] <= unit) part++ // parts without chunks
    return part
  }

  private partCut(part: number): PartCut {
    if (this.last?.part === part) return this.last
    const { kindOf, shapes, rank, firstUnit } = this.manifest
    const cut = this.cuts[kindOf[part]]
    const shape = Array.from(shapes.subarray(part * rank, (part + 1) * rank))
    const grid = gridOf(shape, cut.kind.chunk)
    const across = grid.slice(1).reduce((product, side) => product * side, 1)
    const { element, chunk, order } = cut.kind
    const rowShape = element.form === 'complex' ? [...shape.slice(1), 2] : shape.slice(1)
    const inOrder = order.every((axis, i) => axis === i)
    const whole = inOrder && shape.every((side, axis) => axis === 0 || side === chunk[axis])
    const text = element.form === 'ascii' || element.form === 'utf32'
    this.last = {
      ...cut,
      part,
      firstUnit: firstUnit[part],
      shape,
      rowShape,
      grid,
      across,
      whole,
      text,
      vlen: isVlen(cut.kind),
    }
    return this.last
  }
}

/** An element of fixed length. */
function fixedText(
  element: Element,
  bytes: Uint8Array,
  bigEndian = element.bigEndian,
): Uint8Array | string | undefined {
  return element.form === 'ascii' ? withoutZeros(bytes) : textOfPoints(bytes, bigEndian)
}

function tileStrides({ strides, kind }: Cut): number[] {
  const own = strides.slice(1)
  return kind.element.form === 'complex' ? [...own, kind.element.bytes / 2] : own
}

function cutOf(kind: ArrayKind): Cut {
  const { chunk, order, element, steps } = kind
  const strides = new Array<number>(chunk.length)
  let stride = element.bytes
  for (const axis of [...order].reverse()) {
    strides[axis] = stride
    stride *= chunk[axis]
  }
  const asItIs = steps.length === 0 && order[0] === 0
  return { kind, bytes: chunkBytes(kind), strides, rowBytes: asItIs ? strides[0] : 0 }
}
