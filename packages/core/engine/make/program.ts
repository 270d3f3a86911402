/**
 * One field of one row: from a column's value to its place in the slot. A field of the definition is compiled
 * once per maker and ring into a program; the program runs once a row.
 */

import type { TiledArray } from '../../basics/array.js'
import type { ReadBytes } from '../../basics/plain-array.js'
import type { Random } from '../../basics/random.js'
import type { FieldMaking, SlotField } from '../../define/making.js'
import type { Tokenizer } from '../../define/tokenizer.js'
import type { NormalOp } from '../../define/types.js'
import type { Workspace } from '../../system/memory/workspace.js'

/** How a field lies in the slot, and who makes it. */
export interface InSlot {
  layout: SlotField
  making: FieldMaking
  /** Of a field of text that has one. */
  tokenizer?: Tokenizer | undefined
}

/** A value as a column gives it: bytes to decode, a value the index already holds, or an array. */
export type FieldValue = Uint8Array | number | bigint | string | TiledArray

/** The row being made. One object a maker and ring, changed from row to row. */
export interface RowContext {
  readonly work: Workspace
  /** Its position in the epoch. */
  readonly position: number
  /** The random source of an operator of a field for this row: the followed field's where it follows. */
  random(field: string, op: NormalOp): Random
  /**
   * What the fields of this row chose, by field name, for those that follow them: only the kinds that note it know what it is.
   * Followed fields are made first, so that what a follower finds is of its own row; entries are overwritten from row to row,
   * never cleared: V8 chains the tables of a cleared map, and what they held lives on until the next full collection.
   */
  readonly chosen: Map<string, unknown>
  /** What `use` makes of the value of another field of this row, undefined where it has none. What is wrong with it is that field's. */
  readonly other?: <T>(field: string, use: (value: FieldValue | undefined) => T) => T
  readonly read?: ReadBytes
  /**
   * Where a row of varying length will lie in the slot, if it is large: it is best written there at once. Asked for once a
   * field, by programs that know the length (along the varying axis) beforehand. Undefined: the workspace it is.
   */
  readonly room?: (length: number) => number | undefined
}

/**
 * What a field takes as it lies in a column of a unit: UTF-8, any bytes, elements of its own dtype, or a number, which it
 * converts. Absent: its values have to be looked at one by one.
 */
export type Takes = 'text' | 'bytes' | 'elements' | 'number'

/** A compiled field whose rows all have one shape: writes the row at byte offset `at` of the workspace's memory. */
export interface DenseProgram {
  form: 'dense'
  takes?: Takes | undefined
  run(value: FieldValue, at: number, context: RowContext): void | Promise<void>
  /** Writes what stands for a value that the sample lacks. Absent: such a sample is bad. */
  missing?: ((at: number, context: RowContext) => void) | undefined
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
  takes?: Takes | undefined
  run(value: FieldValue, context: RowContext): Placed | Promise<Placed>
  /** Makes what stands for a value that the sample lacks. */
  missing?: ((context: RowContext) => Placed) | undefined
}

/** The columns of a sample. */
export type Columns = Readonly<Record<string, FieldValue | null | undefined>>

/** A compiled field whose rows are made of several columns at once. */
export interface WideProgram {
  form: 'wide'
  takes?: undefined
  missing?: undefined
  run(columns: Columns, at: number, context: RowContext): void | Promise<void>
}

/** A function of the user's on one field's decoded value. */
export type UserMap = (value: unknown, random: Random) => unknown

export type FieldProgram = DenseProgram | VaryingProgram | WideProgram
