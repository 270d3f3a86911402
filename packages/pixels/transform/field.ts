/**
 * One field of one row: from a column's value to its place in the slot. A field of the definition is compiled
 * once per maker and ring into a program; the program runs once a row.
 */

import type { Unread } from '../../core/basics/array.js'
import type { Random } from '../../core/basics/random.js'
import type { NormalOp } from '../../core/define/types.js'
import type { Workspace } from '../../core/system/memory/workspace.js'
import type { Rows } from '../decode/array/rows.js'
import type { Value } from '../decode/text/text.js'
import type { CropStep } from '../operators/crop/step.js'
import type { Step } from '../operators/steps.js'

/** What a field chose for this row, so that followers can do the same. */
export interface Chosen {
  /** Size of the decoded value before the first step. */
  width: number
  height: number
  steps: readonly Step[]
}

/** The row being made. One object a maker and ring, changed from row to row. */
export interface RowContext {
  readonly work: Workspace
  /** Its position in the epoch. */
  readonly position: number
  /** The random source of an operator of a field for this row: the followed field's where it follows. */
  random(field: string, op: NormalOp): Random
  /**
   * What the fields of this row chose, by field name. Followed fields are made first, so that what a follower finds
   * is of its own row; entries are overwritten from row to row, never cleared: V8 chains the tables of a cleared map,
   * and what they held lives on until the next full collection.
   */
  readonly chosen: Map<string, Chosen>
  /** The boxes of a field of this row, where an operator of an image looks at them. */
  readonly boxes?: (field: string) => Rows
  /** Fills `into` with bytes that were left where they are; a promise where that takes long. */
  readonly read?: (range: Unread, into: Uint8Array) => void | Promise<void>
  /**
   * Where a row of varying length will lie in the slot, if it is large: it is best written there at once. Asked for once a
   * field, by programs that know the length (along the varying axis) beforehand. Undefined: the workspace it is.
   */
  readonly room?: (length: number) => number | undefined
  /** A row that is made again without its sample: the crop that was chosen with a look at its boxes, null for none. */
  readonly recalled?: CropStep | null
}

/** A value as a column gives it: bytes to decode, a value the index already holds, or an array. */
export type FieldValue = Value

/**
 * What a field takes as it lies in a column of a unit: UTF-8, any bytes, elements of its own dtype, or a number, which it
 * converts. Absent: its values have to be looked at one by one.
 */
export type Takes = 'text' | 'bytes' | 'elements' | 'number'

/** A compiled field whose rows all have one shape: writes the row at byte offset `at` of the workspace's memory. */
export interface DenseProgram {
  form: 'dense'
  takes?: Takes
  run(value: FieldValue, at: number, context: RowContext): void | Promise<void>
}

/** Where a row's elements lie in the workspace, and how many they are along the varying axis. */
export interface Placed {
  at: number
  length: number
}

/**
 * A compiled field whose rows vary in length: leaves the row's elements, already in the field's dtype, in the
 * workspace and says where and how many (counted along the varying axis). The engine puts them in their place. Large rows may
 * be left where `room` says.
 */
export interface VaryingProgram {
  form: 'varying'
  takes?: Takes
  run(value: FieldValue, context: RowContext): Placed | Promise<Placed>
}

/** The columns of a sample. */
export type Columns = Readonly<Record<string, FieldValue | null | undefined>>

/** A compiled field whose rows are made of several columns at once. */
export interface WideProgram {
  form: 'wide'
  takes?: undefined
  run(columns: Columns, at: number, context: RowContext): void | Promise<void>
}

/** A function of the user's on one field's decoded value. */
export type UserMap = (value: unknown, random: Random) => unknown

export type FieldProgram = DenseProgram | VaryingProgram | WideProgram
