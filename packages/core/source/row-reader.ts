/**
 * Reads rows one after the other, without a cache: for tools that go through a source, and for a look at a few rows. The
 * units of the row before are kept, so that rows that lie side by side load theirs once.
 */
import { isTiled } from '../basics/array.js'
import { after, type Maybe, together } from '../basics/maybe.js'
import { ReadMemory } from '../store/read-memory.js'
import type { Reader } from '../store/reader.js'
import { loadUnit, unitBytes } from './load-unit.js'
import type { ByteRange, Columns, Need, Source, UnitRef } from './source.js'

export interface RowRead {
  sample: Columns
  /** Bytes of its own ranges, and of the units that were loaded for it. */
  bytes: number
}

export class RowReader {
  private memory = new ReadMemory()
  private units: { ref: UnitRef; pieces: Maybe<readonly Uint8Array[]> }[] = []

  constructor(
    private readonly source: Source,
    private readonly reader: Reader,
  ) {}

  /** The columns of a row: views that are valid until the next call. */
  read(row: number, columns: readonly string[], epoch = 0): Maybe<RowRead> {
    const need = needOf(this.source, row, columns, epoch)
    let bytes = 0
    const units = need.units.map(ref => {
      const known = this.units.find(
        ({ ref: { leaf, unit, columns } }) =>
          leaf === ref.leaf && unit === ref.unit && columns.join() === ref.columns.join(),
      )
      if (known !== undefined) return known
      const ranges = ref.leaf.planUnit(ref.unit, ref.columns)
      bytes += ranges.reduce((sum, range) => sum + range.length, 0)
      const into = new Uint8Array(unitBytes(ref, ranges))
      return { ref, pieces: loadUnit(this.reader, ref, ranges, into, this.memory) }
    })
    this.units = units
    const loaded = together(units.map(({ pieces }) => pieces))
    // After an error, others may still be read into it.
    if (loaded instanceof Promise) this.memory = new ReadMemory()
    return after(loaded, units =>
      after(this.reader.read(need.ranges), ranges => {
        for (const { length } of ranges) bytes += length
        return { sample: this.source.sample(row, epoch, columns, { ranges, units }), bytes }
      }),
    )
  }
}

/** Bytes of unread arrays that are read at a time. */
const UNREAD_PIECE = 16 << 20

/**
 * Reads what a row's arrays leave unread, since a run reads it straight into the batch, and drops it: for tools that want to
 * know whether it can be read. Gives the number of bytes.
 */
export function readUnread(sample: Readonly<Columns>, reader: Reader): Maybe<number> {
  let done: Maybe<number> = 0
  for (const range of unreadIn(sample)) {
    for (let from = 0; from < range.length; from += UNREAD_PIECE) {
      const length = Math.min(UNREAD_PIECE, range.length - from)
      done = after(done, bytes => {
        unread ??= Buffer.allocUnsafeSlow(UNREAD_PIECE)
        const piece = { ...range, offset: range.offset + from, length }
        return after(reader.readInto(piece, unread.subarray(0, length)), () => bytes + length)
      })
    }
  }
  return done
}

/** Where such bytes go, one piece after the other. */
let unread: Uint8Array | undefined

function unreadIn(sample: Readonly<Columns>): ByteRange[] {
  return Object.values(sample).flatMap(value =>
    isTiled(value)
      ? value.tiles.flatMap(({ data }) => (data instanceof Uint8Array ? [] : [data as ByteRange]))
      : [],
  )
}

/** What a row needs. */
export function needOf(source: Source, row: number, columns: readonly string[], epoch = 0): Need {
  const need: Need = { ranges: [], units: [] }
  source.need(row, epoch, columns, need)
  return need
}

/** Bytes that a row takes in the files: its own ranges, and its share of the units that it has in common with others. */
export function storedBytes(source: Source, row: number, columns: readonly string[]): number {
  const { ranges, units } = needOf(source, row, columns)
  return units.reduce((sum, { leaf, unit, columns }) => {
    const planned = leaf.planUnit(unit, columns)
    const rows = rowsOf(leaf.unitStarts, unit, leaf.count)
    return sum + planned.reduce((bytes, { length }) => bytes + length, 0) / rows
  }, lengthOf(ranges))
}

/** The bytes of arrays that a row leaves unread; of the columns that need nothing else. `columns` has lists of one name each. */
export function unreadBytes(source: Source, row: number, columns: readonly (readonly string[])[]): number {
  return columns.reduce((sum, column) => {
    const { ranges, units } = needOf(source, row, column)
    if (ranges.length + units.length > 0) return sum
    return sum + lengthOf(unreadIn(source.sample(row, 0, column, { ranges: [], units: [] })))
  }, 0)
}

function lengthOf(ranges: Need['ranges']): number {
  return ranges.reduce((sum, { length }) => sum + length, 0)
}

/** Rows of a unit: up to the next one that begins later. */
function rowsOf(starts: Float64Array, unit: number, count: number): number {
  let next = unit + 1
  while (next < starts.length && starts[next] === starts[unit]) next++
  return Math.max(1, (starts[next] ?? count) - starts[unit])
}
