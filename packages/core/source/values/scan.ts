/**
 * Reads some columns of all rows, in the order of the rows. Ranges of many rows are read together, and rows of one unit load
 * it once, so a file is read once from its beginning to its end.
 */
import { bytesOfStored, countOf, isTiled } from '../../basics/array.js'
import { READERS } from '../../basics/element.js'
import { DecodeError, SourceError } from '../../basics/errors.js'
import { after, attempt, type Maybe, together } from '../../basics/maybe.js'
import { ReadMemory } from '../../store/read-memory.js'
import type { Reader } from '../../store/reader.js'
import { loadUnit, plannedUnit, unitBytes } from '../load-unit.js'
import { needOf } from '../row-reader.js'
import type { ArrayColumn, ByteRange, Column, Columns, Source, UnitRef } from '../source.js'
import { leavesOf } from '../source-wrapper.js'
import { ValueBuilder } from './value-builder.js'

/** Rows, and bytes of their own ranges, that are read together at most. */
const BLOCK_ROWS = 1024
const BLOCK_BYTES = 8 << 20

/** What is done with the rows that are read. */
export interface Visitor {
  row(sample: Readonly<Columns>, row: number): Maybe<void>
  /** A row can't be read, or `row` threw: throws, or passes it over. */
  fault(error: unknown, row: number): void
  progress?: (row: number) => void
}

/** The values of `columns`, of rows up to `end`. */
export async function scanValues(
  source: Source,
  columns: readonly string[],
  reader: Reader,
  end: number,
  progress?: (row: number) => void,
): Promise<ValueBuilder[]> {
  const builders = columns.map(() => new ValueBuilder())
  const addAll = (sample: Readonly<Columns>, from: number): Maybe<void> => {
    for (let c = from; c < columns.length; c++) {
      const added = add(builders[c], sample[columns[c]], columns[c], reader)
      if (added instanceof Promise) return added.then(() => addAll(sample, c + 1))
    }
  }
  await scanRows(source, columns, reader, end, {
    ...(progress && { progress }),
    row: sample => addAll(sample, 0),
    fault(error, row) {
      throw named(
        error,
        source,
        row,
        'Rows are selected, grouped or weighed by what is read here, so it must be right in every row: mend it, or leave the row out by ' +
          'a subset of a range',
      )
    },
  })
  return builders
}

/** Rows in an order in which those of one unit stand together, since a selection may have them in any; undefined: as they are. */
export function rowsByUnit(source: Source, columns: readonly string[]): Float64Array | undefined {
  const leaves = leavesOf(source)
  if (leaves === undefined) return undefined
  const units = new Float64Array(source.count)
  let ordered = true
  for (let row = 0; row < units.length; row++) {
    const [first] = needOf(source, row, columns).units
    units[row] = first === undefined ? 0 : leaves.indexOf(first.leaf) * 2 ** 32 + first.unit
    ordered &&= row === 0 || units[row] >= units[row - 1]
  }
  if (ordered) return undefined
  return Float64Array.from(units, (_, row) => row).sort((a, b) => units[a] - units[b] || a - b)
}

/** Reads the columns of so many rows, one after the other; `order` says which these are. */
export async function scanRows(
  source: Source,
  columns: readonly string[],
  reader: Reader,
  count: number,
  { row: visit, fault, progress }: Visitor,
  order?: Float64Array,
): Promise<void> {
  const units = new HeldUnits(reader)
  for (let next = 0; next < count; ) {
    progress?.(next)
    const rows = Array.from(
      { length: Math.min(BLOCK_ROWS, count - next) },
      (_, i) => order?.[next + i] ?? next + i,
    )
    const block = planBlock(source, rows, columns)
    const loaded = attempt(
      () => units.hold(block.units),
      error => fault(error, rows[0]),
    )
    const pieces = loaded instanceof Promise ? await loaded : loaded
    const read = reader.read(block.ranges)
    const ranges = read instanceof Promise ? await read : read
    for (let i = 0; i < block.rows; i++, next++) {
      // A unit that can't be read was passed over.
      if (pieces === undefined) continue
      const own = ranges.slice(block.starts[i], block.starts[i + 1])
      try {
        const sample = source.sample(rows[i], 0, columns, { ranges: own, units: pieces })
        const pending = visit(sample, rows[i])
        if (pending instanceof Promise) await pending
      } catch (error) {
        fault(error, rows[i])
      }
    }
  }
}

/** Rows that are read together: they need the same units. */
interface Block {
  rows: number
  units: readonly UnitRef[]
  ranges: ByteRange[]
  /** The first range of each row, and how many there are. */
  starts: number[]
}

/** As many of the rows as can be read together. */
function planBlock(source: Source, rows: readonly number[], columns: readonly string[]): Block {
  const block: Block = { rows: 0, units: [], ranges: [], starts: [0] }
  let bytes = 0
  for (const row of rows) {
    if (bytes >= BLOCK_BYTES) break
    const need = needOf(source, row, columns)
    if (block.rows === 0) block.units = need.units
    else if (!sameUnits(block.units, need.units)) break
    for (const range of need.ranges) {
      block.ranges.push(range)
      bytes += range.length
    }
    block.starts.push(block.ranges.length)
    block.rows++
  }
  return block
}

function sameUnits(a: readonly UnitRef[], b: readonly UnitRef[]): boolean {
  return a.length === b.length && a.every(({ leaf, unit }, i) => leaf === b[i].leaf && unit === b[i].unit)
}

/** The units of the rows that are being looked at. */
class HeldUnits {
  private held: { ref: UnitRef; pieces: Maybe<readonly Uint8Array[]> }[] = []
  private memory = new ReadMemory()

  constructor(private readonly reader: Reader) {}

  hold(refs: readonly UnitRef[]): Maybe<(readonly Uint8Array[])[]> {
    this.held = refs.map(ref => {
      const known = this.held.find(({ ref: { leaf, unit } }) => leaf === ref.leaf && unit === ref.unit)
      if (known !== undefined) return known
      const ranges = plannedUnit(ref)
      const into = new Uint8Array(unitBytes(ref, ranges))
      return { ref, pieces: loadUnit(this.reader, ref, ranges, into, this.memory) }
    })
    const loaded = together(this.held.map(({ pieces }) => pieces))
    // After an error, others may still be read into it.
    if (loaded instanceof Promise) this.memory = new ReadMemory()
    return loaded
  }
}

function add(builder: ValueBuilder, value: Column | undefined, name: string, reader: Reader): Maybe<void> {
  if (typeof value === 'number' || typeof value === 'bigint') return builder.number(value)
  if (value === undefined) return builder.none()
  if (isTiled(value)) return after(elementOf(value as ArrayColumn, name, reader), one => builder.number(one))
  try {
    builder.text(value)
  } catch (error) {
    throw new DecodeError(`column "${name}" ${(error as Error).message}`, { cause: error })
  }
}

/** The number in an array that has only one. */
function elementOf(
  { dtype, shape, tiles }: ArrayColumn,
  name: string,
  reader: Reader,
): Maybe<number | bigint> {
  const tile = tiles.find(({ shape: own }) => own === undefined || countOf(own) > 0)
  if (countOf(shape) !== 1 || tile === undefined)
    throw new DecodeError(
      `column "${name}" holds arrays (${dtype} [${shape}]): rows are selected and grouped by single numbers and texts`,
    )
  const bytes = new Uint8Array(bytesOfStored(dtype))
  const read =
    tile.data instanceof Uint8Array
      ? void bytes.set(tile.data.subarray(0, bytes.length))
      : reader.readInto({ ...tile.data, length: bytes.length }, bytes)
  return after(read as Maybe<void>, () => {
    if (tile.bigEndian) bytes.reverse()
    return READERS[dtype](new DataView(bytes.buffer), 0)
  })
}

/** The error with the name of its sample, where it is one of data; `why` says what that means. */
export function named(error: unknown, source: Source, row: number, why: string): unknown {
  if (!(error instanceof DecodeError)) return error
  const { file, offset } = source.where?.(row) ?? {}
  return new SourceError(
    `sample ${source.id(row)}${file === undefined ? '' : ` (${file}, byte ${offset})`}: ${error.message}. ${why}`,
    { file, offset, cause: error },
  )
}
