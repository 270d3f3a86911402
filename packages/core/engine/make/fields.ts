/** The fields of a job: how each is made, and which of a sample's columns it is made of. */
import { decoderOf } from '../../define/kind.js'
import type { MissingJson, NormalField } from '../../define/types.js'
import { isColumn, missingColumn, missingOf, presentValue, says } from '../../source/missing.js'
import type { Column, Source } from '../../source/source.js'
import { isGenerated } from '../plan/generate.js'
import type { Job } from '../plan/job.js'
import { FieldFailure, NoColumnError, UnknownColumnError } from './failures.js'
import type { FieldProgram } from './program.js'
import type { UserFunctions } from './user-functions.js'

export interface CompiledField {
  /** Number of the field in the layout, and its name. */
  index: number
  name: string
  from: readonly string[]
  as: NormalField['as']
  program: FieldProgram
  /** What stands for the value where a sample has none of its columns; absent: such a sample is bad. */
  missing: MissingJson | undefined
}

/** A source that names so many columns may not name all. */
const MANY_COLUMNS = 64

/** Compiles the fields in an order in which followed ones come before their followers; not those that a device makes. */
export function compileFields(job: Job, functions: UserFunctions): CompiledField[] {
  const here = job.feed.fields.map((field, index) => ({ field, index, making: job.making[index] }))
  const fields = here
    .filter(({ making }) => !isGenerated(making))
    .map(({ field, index, making }) => {
      const slot = {
        making,
        layout: job.layout.fields[index],
        tokenizer: functions.tokenizers?.get(field.name),
      }
      return {
        index,
        name: field.name,
        from: field.from,
        as: field.as,
        follows: field.follow !== undefined,
        program: decoderOf(field).compile(field, slot, functions.fields.get(field.name)),
        missing: field.missing,
      }
    })
  return [...fields.filter(field => !field.follows), ...fields.filter(field => field.follows)]
}

/** Where the names of columns come from: a source that names `all` of them, or `some`, or a function over the sample. */
export type ColumnNames = 'all' | 'some' | 'made'

/**
 * The first column present among the field's alternatives; undefined where there is none, and the field says what stands for
 * it. Null is absence. Where the source names all of its columns and has none of these, the sample is not to blame.
 */
export function columnOf(
  field: CompiledField,
  columns: Record<string, Column>,
  source: Source,
  row: number,
  names: ColumnNames,
): Column | undefined {
  const value = presentValue(field, columns, name => names === 'made' || says(source, row, name))
  if (value !== undefined) return value
  const possible = source.present?.(row).possible ?? source.columns
  const all = names === 'all' && possible.length < MANY_COLUMNS
  const unknown = all && !field.from.some(name => possible.some(column => isColumn(name, column)))
  if (field.missing !== undefined && !unknown) return undefined
  const NoColumn = unknown ? UnknownColumnError : NoColumnError
  const empty = field.from.find(name => columns[name] === null)
  const lack =
    empty !== undefined
      ? `column "${empty}" of the sample is null (None): "missing" of the field says what stands for that`
      : names === 'made'
        ? missingOf(Object.keys(columns), field.from)
        : missingColumn(source, row, field.from, columns)
  const why =
    field.missing === undefined ? '' : '. No sample of the source has it, so "missing" does not help'
  throw new FieldFailure(field.name, new NoColumn(lack + why), 'read')
}
