/**
 * Small columns that the index holds for every row: labels, other numbers, and codes of dictionaries. `where`, `split` and weights
 * go by them, and their values need no read while a feed runs. They may take a sixteenth of the file, or 1 MiB.
 */
import { bytesOfStored, isFloatDtype, type StoredDtype } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { NumberBuilder } from '../../../core/source/index/columns.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { classNames } from '../../features.js'
import { type ArrowColumn, fieldsFor } from '../columns.js'
import type { Schema } from '../metadata/schema.js'
import { Units } from '../units.js'
import { ColumnView, type UnitBuffers } from '../view.js'
import type { Dictionaries } from './dictionaries.js'
import type { UnitBuilder } from './unit-builder.js'

const SHARE = 1 / 16
const LEAST_ROOM = 1 << 20
/** A unit that takes more is not unpacked to look at it. */
const MOST_UNIT = 256 << 20

/** Whether the index may hold it: a scalar, or text of a dictionary. */
function mayBeSmall({ kind, field }: ArrowColumn): boolean {
  if (field.dictionary !== undefined) return kind === 'text' && field.dictionary.values.items === 'text'
  return kind === 'number' && field.items !== 'decimal'
}

/** The columns of a file that the index holds: labels first, then as there is room. */
export function smallColumns(
  columns: readonly ArrowColumn[],
  schema: Schema,
  rows: number,
  bytes: number,
): ArrowColumn[] {
  const labels = classNames(schema.metadata)
  const rank = ({ name, field }: ArrowColumn): number =>
    Object.hasOwn(labels, name) ? 0 : field.dictionary ? 1 : isFloatDtype(field.items as StoredDtype) ? 3 : 2
  let room = Math.max(LEAST_ROOM, bytes * SHARE)
  const found = columns.filter(mayBeSmall).map((column, i) => ({ column, i, rank: rank(column) }))
  return found
    .sort((a, b) => a.rank - b.rank || a.i - b.i)
    .filter(({ column: { field } }) => {
      const taken = rows * bytesOfStored(field.items as StoredDtype)
      if (taken > room) return false
      room -= taken
      return true
    })
    .map(({ column }) => column)
}

interface Built {
  read: ReadAt
  units: UnitBuilder
  schema: Schema
  dictionaries: Dictionaries
}

/** Their values: nulls are NaN; of dictionaries the numbers of entries. A column with integers that no number holds is left out. */
export async function smallValues(
  columns: readonly ArrowColumn[],
  { read, units: built, schema, dictionaries }: Built,
): Promise<[string, NumberBuilder][]> {
  const units = new Units(built.columns, schema.nodes)
  const fields = columns.flatMap(fieldsFor)
  let left = columns.map(column => new SmallColumn(column, dictionaries))
  for (let unit = 0; unit < built.count - 1 && left.length > 0; unit++) {
    const plan = units.plan(unit, fields)
    if (plan.bytes > MOST_UNIT) return []
    const pieces: Buffer[] = []
    for (const { offset, length } of plan.ranges) {
      const into = Buffer.allocUnsafeSlow(length)
      await read(into, offset)
      pieces.push(into)
    }
    const rows = built.start.at(unit + 1) - built.start.at(unit)
    try {
      const loaded = units.load(plan, pieces, new Uint8Array(plan.codec === 'none' ? 0 : plan.bytes))
      const buffers = units.buffers(plan, loaded, noDictionary)
      left = left.filter(column => column.add(unit, rows, buffers))
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      return [] // rows of a damaged unit are bad when they are read
    }
  }
  return left.map(({ name, values }) => [name, values])
}

class SmallColumn {
  readonly name: string
  readonly values = new NumberBuilder()
  /** Of a dictionary: its first entry for each unit, and the one behind its last. */
  private readonly spans: { from: NumberBuilder; to: NumberBuilder } | undefined
  private readonly column: ArrowColumn

  constructor(column: ArrowColumn, dictionaries: Dictionaries) {
    this.name = column.name
    const { dictionary, ...codes } = column.field
    this.spans = dictionary && [...dictionaries.all].find(({ id }) => id === dictionary.id)
    this.column = dictionary === undefined ? column : { ...column, kind: 'number', field: codes }
  }

  /** False: there is a value that the index can't hold. */
  add(unit: number, rows: number, buffers: UnitBuffers): boolean {
    const view = new ColumnView(this.column, buffers)
    const first = this.spans?.from.at(unit)
    const end = this.spans?.to.at(unit)
    for (let row = 0; row < rows; row++) {
      const value = view.at(row)
      const plain = value === undefined ? Number.NaN : Number(value)
      const number = first === undefined ? plain : first + plain // a sum would lose the sign of −0
      if (typeof value === 'bigint' && !Number.isSafeInteger(number)) return false
      if (end !== undefined && !(number < end || value === undefined)) return false
      this.values.push(number)
    }
    return true
  }
}

const noDictionary = (): never => {
  throw new Error('codes are looked at without their dictionary')
}
