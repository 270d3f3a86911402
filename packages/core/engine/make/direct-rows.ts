/**
 * Makes rows whose values lie in a loaded unit as they will lie in the slot: texts, lists of numbers, numbers. Each field finds
 * its value of every row of the claim, takes room for all of them, and copies each once. No sample is put together.
 *
 * A row with anything else, such as a null, or a text that is too long or no UTF-8, is left to the sample maker, which also says
 * what is wrong with it.
 */
import { isUtf8 } from 'node:buffer'
import { placeOf, takeRagged } from '../../batch/close.js'
import { type FieldPlace, mostRows, type SlotLayout } from '../../batch/layout.js'
import type { Slot } from '../../batch/slot.js'
import type { ColumnView, Span } from '../../source/columnar/view.js'
import { Copier } from '../../system/memory/copy.js'
import type { UnitColumns } from '../fetch/cached.js'
import type { CompiledField } from './fields.js'
import type { DenseProgram, FieldProgram, FieldValue, RowContext, Takes } from './program.js'

/** The columns of the units that hold the rows of a claim. */
interface ClaimColumns {
  unitColumns(i: number): UnitColumns | undefined
  rowInUnit(i: number): number
}

/** A field, and what was found of it: where the value of each row of the claim lies, and its length. */
interface DirectField {
  index: number
  /** Its column, among those of the unit. */
  column: number
  place: FieldPlace
  /** The greatest length of a row; of rows of one shape, 1. */
  most: number
  takes: Takes
  program: FieldProgram
  from: Float64Array
  lengths: Int32Array
}

/** Undefined where a field has to look at its values, or has several columns to choose from. `columns` are those asked of units. */
export function directRowsOf(
  layout: SlotLayout,
  fields: readonly CompiledField[],
  columns: readonly string[],
  context: RowContext,
): DirectRows | undefined {
  const direct: DirectField[] = []
  for (const { index, from, program } of fields) {
    const place = layout.fields[index]
    const { takes } = program
    if (takes === undefined || from.length !== 1) return undefined
    direct.push({
      index,
      column: columns.indexOf(from[0]),
      place,
      most: place.form === 'dense' ? 1 : (place.each ?? place.max!),
      takes,
      program,
      from: new Float64Array(mostRows(layout)),
      lengths: new Int32Array(mostRows(layout)),
    })
  }
  return direct.length === 0 ? undefined : new DirectRows(direct, mostRows(layout), context)
}

export class DirectRows {
  /** Of each row of the claim: 1 when it was made. */
  private readonly made: Uint8Array
  private readonly copier: Copier
  private readonly span: Span = { at: 0, end: 0 }
  /** The cache: all units of a claim lie in it. */
  private memory: Uint8Array = new Uint8Array(0)

  constructor(
    private readonly fields: readonly DirectField[],
    chunkRows: number,
    private readonly context: RowContext,
  ) {
    this.made = new Uint8Array(chunkRows)
    this.copier = new Copier(context.work)
  }

  /** Makes what it can of rows `from` to `to` − 1 of the slot, which are those of the claim, and says of each whether it did. */
  make(slot: Slot, from: number, to: number, columns: ClaimColumns): Uint8Array {
    const { made } = this
    let any = false
    for (let i = 0; i < to - from; i++) {
      const found = this.find(slot, from + i, i, columns)
      made[i] = found ? 1 : 0
      any ||= found
    }
    if (any) for (const field of this.fields) this.put(field, slot, from, to)
    return made
  }

  /** Finds the values of a row. Numbers are written at once. */
  private find(slot: Slot, row: number, i: number, claim: ClaimColumns): boolean {
    const columns = claim.unitColumns(i)
    if (columns === undefined) return false
    for (const field of this.fields) {
      const column = columns[field.column]
      if (column === undefined) return false
      const inUnit = claim.rowInUnit(i) + column.skip
      const { view } = column
      if (!view.span(inUnit, this.span)) return false
      this.memory = view.bytes
      if (
        field.takes === 'number' ? !this.number(field, view, inUnit, slot, row) : !this.note(field, view, i)
      )
        return false
    }
    return true
  }

  private number(
    { program, place }: DirectField,
    view: ColumnView,
    inUnit: number,
    slot: Slot,
    row: number,
  ): boolean {
    if (view.isList || !view.isNumber) return false
    const at = slot.at + place.at + row * place.unitBytes
    try {
      const pending = (program as DenseProgram).run(view.at(inUnit) as FieldValue, at, this.context)
      return pending === undefined
    } catch {
      return false // the sample maker says why
    }
  }

  /** Whether the value that was found can be taken as it lies there. */
  private note(field: DirectField, view: ColumnView, i: number): boolean {
    const { at, end } = this.span
    const { place, takes } = field
    const length = (end - at) / place.unitBytes
    if (takes === 'elements') {
      if (!view.isList || view.items !== place.dtype || (place.form === 'dense' && length !== 1)) return false
    } else if (view.isList || view.isNumber) return false
    else if (takes === 'text' && !view.isUtf8 && !isUtf8(view.bytes.subarray(at, end))) return false
    if (length > field.most) return false
    field.from[i] = at
    field.lengths[i] = length
    return true
  }

  private put(field: DirectField, slot: Slot, from: number, to: number): void {
    const { made, memory, copier } = this
    const { takes, place, lengths, index } = field
    if (takes === 'number') return
    const { unitBytes, form } = place
    if (form !== 'dense') {
      for (let i = 0; i < to - from; i++) if (made[i] === 0) lengths[i] = -1
      if (form === 'padded') noteLengths(slot, field, from, to)
      else takeRagged(slot, index, from, to, lengths)
    }
    const dense = slot.at + place.at
    for (let row = from; row < to; row++) {
      const i = row - from
      if (made[i] === 0) continue
      const into = form === 'dense' ? dense + row * unitBytes : placeOf(slot, index, row, lengths[i])
      if (into >= 0) copier.copy(memory, field.from[i], lengths[i] * unitBytes, into)
    }
  }
}

function noteLengths(slot: Slot, { place, lengths }: DirectField, from: number, to: number): void {
  const noted = slot.column(place.lengthAt)
  for (let row = from; row < to; row++) if (lengths[row - from] >= 0) noted[row] = lengths[row - from]
}
