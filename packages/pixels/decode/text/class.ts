/** Class names to numbers, by the list in the definition. */
import { DecodeError, nearest } from '../../../core/basics/errors.js'
import { trimBlanks } from '../../../core/basics/trim.js'
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decodeText, shown } from './text.js'

/** Name → number. Made once for each field. */
export type ClassTable = ReadonlyMap<string, number>

export function classTable(names: readonly string[]): ClassTable {
  return new Map(names.map((name, number) => [name, number]))
}

/** Characters that are compared with all names to find the nearest one: a long name among many would take long. */
const MOST_COMPARED = 100_000

/** The number of a class, given its name as bytes, text, or a number that is a name ("7"). */
export function decodeClass(value: FieldValue, table: ClassTable): number {
  const name = trimBlanks(decodeText(value))
  const number = table.get(name)
  if (number !== undefined) return number
  if (Number.isNaN(value)) throw new DecodeError('is NaN: "missing" of the field says what stands for that')
  const near = name.length * table.size > MOST_COMPARED ? undefined : nearest(name, table.keys())
  const hint = near === undefined ? '' : ` (did you mean ${JSON.stringify(near)}?)`
  throw new DecodeError(
    `class ${shown(name)} is not one of the ${table.size} classes of the definition${hint}: add it to "classes"`,
  )
}
