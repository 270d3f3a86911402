/** The column that a field has of a sample; and words for one that lacks it: the columns it has, and the likely cause where one is known. */
import { nearest } from '../basics/errors.js'
import type { Columns, Source } from './source.js'

/** Names shorter than this are too like each other: `jpg` and `png`. */
const LONG_ENOUGH = 4

/**
 * The first value that is there of a field's alternatives. Null is absence; where `missing` stands for that, so are a class that is NaN
 * and a text that is empty, unless it `isSaid`.
 */
export function presentValue<Value>(
  { from, as, missing }: { from: readonly string[]; as: string; missing?: unknown },
  columns: Readonly<Record<string, Value | null | undefined>>,
  isSaid: (name: string) => boolean,
): Value | undefined {
  for (const name of from) {
    const value = columns[name]
    if (value === undefined || value === null) continue
    const isEmpty =
      missing !== undefined && (value === '' ? !isSaid(name) : as === 'class' && Number.isNaN(value))
    if (!isEmpty) return value
  }
}

/** Whether an empty text is what the sample says there. In a list of files, an empty cell stands for nothing. */
export function says(source: Source, row: number, name: string): boolean {
  return source.present?.(row).columns.includes(name) ?? true
}

/** `sample`: what was read of it, for sources that name no columns ahead (datasets in Python). */
export function missingColumn(
  source: Source,
  row: number,
  wanted: readonly string[],
  sample: Columns = {},
): string {
  const { columns, why } = source.present?.(row) ?? { columns: source.columns }
  const names = columns.length > 0 ? columns : Object.keys(sample)
  const empty = wanted.find(name => names.includes(name))
  const lack =
    empty === undefined
      ? missingOf(names, wanted)
      : `column "${empty}" of the sample has no value: "missing" of the field says what stands for that`
  return lack + (why === undefined ? '' : `. ${why}`)
}

/** The same for columns that are at hand, such as those that a function made. */
export function missingOf(
  columns: readonly string[],
  wanted: readonly string[],
  what = 'the sample',
): string {
  const names = wanted.map(name => `"${name}"`).join(' or ')
  const near = wanted.flatMap(name => (name.length < LONG_ENOUGH ? [] : (nearest(name, columns) ?? [])))
  const hint = near.length === 0 ? '' : `: did you mean "${near[0]}"?`
  return `${what} has no column ${names}; it has ${listed(columns)}${hint}`
}

/** Names that are told, of many. */
const TOLD = 50

/** The names of columns, for a message: of a wide table the first ones. */
export function listed(columns: readonly string[]): string {
  if (columns.length === 0) return 'none'
  const more = columns.length > TOLD ? `, … (${columns.length} in all)` : ''
  return columns.slice(0, TOLD).join(', ') + more
}

/** Whether a column goes by a name: `json` also by `json.gz`, where that is what the member is called; a list also by `list[2]`. */
export function isColumn(name: string, column: string): boolean {
  return name === column || name.startsWith(`${column}.`) || name.startsWith(`${column}[`)
}
