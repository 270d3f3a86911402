/** Words the message for a sample that lacks a column: the columns it has, and the likely cause where one is known. */
import { nearest } from '../basics/errors.js'
import type { Column, Source } from './source.js'

/** Names shorter than this are too like each other: `jpg` and `png`. */
const LONG_ENOUGH = 4

/** `sample`: what was read of it, for sources that name no columns ahead (datasets in Python). */
export function missingColumn(
  source: Source,
  row: number,
  wanted: readonly string[],
  sample: Record<string, Column> = {},
): string {
  const { columns, why } = source.present?.(row) ?? { columns: source.columns }
  const names = columns.length > 0 ? columns : Object.keys(sample)
  return missingOf(names, wanted) + (why === undefined ? '' : `. ${why}`)
}

/** The same for columns that are at hand, such as those that a function made. */
export function missingOf(columns: readonly string[], wanted: readonly string[]): string {
  const names = wanted.map(name => `"${name}"`).join(' or ')
  const near = wanted.flatMap(name => (name.length < LONG_ENOUGH ? [] : (nearest(name, columns) ?? [])))
  const hint = near.length === 0 ? '' : `: did you mean "${near[0]}"?`
  return `the sample has no column ${names}; it has ${columns.length > 0 ? columns.join(', ') : 'none'}${hint}`
}
