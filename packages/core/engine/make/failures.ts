/** What went wrong with a row: which field it was, at which stage, and which sample. */
import {
  ChangedError,
  DecodeError,
  DefinitionError,
  MissingError,
  type SampleWhere,
} from '../../basics/errors.js'
import type { NormalField } from '../../define/types.js'
import { PythonFailure } from '../../source/made/python.js'
import type { Source } from '../../source/source.js'
import type { BadReport, Mistake } from '../plan/job.js'
import { MapError } from './functions.js'

/** A field could not be made. Carries the field's name to where the sample is known. */
export class FieldFailure extends Error {
  constructor(
    readonly field: string,
    override readonly cause: unknown,
    readonly stage = stageOf(cause, 'transform'),
  ) {
    super((cause as Error).message)
  }
}

/** The stage at which an error came about, as far as the error tells. */
function stageOf(error: unknown, otherwise: string): string {
  if (error instanceof MapError) return 'map'
  return error instanceof DecodeError ? 'decode' : otherwise
}

export function fieldFailed(field: string, error: unknown): never {
  throw error instanceof FieldFailure ? error : new FieldFailure(field, error)
}

/** A sample lacks the column that a field is made of. */
export class NoColumnError extends Error {}

/** No sample of its source has it. */
export class UnknownColumnError extends NoColumnError {}

/** What is no fault of the sample: something that the definition names, that is not installed, or data that changed. */
function mistakeOf(error: unknown): Mistake | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof MissingError) return 'Missing'
    if (at instanceof ChangedError) return 'Changed'
    if (at instanceof DefinitionError || at instanceof UnknownColumnError) return 'Definition'
  }
  return undefined
}

/** What is wrong with a sample, whichever it is: plain data. */
export interface Failure extends Pick<BadReport, 'problem' | 'mistake' | 'suspect'> {
  field: string | undefined
  stage: string
}

export function describeFailure(error: unknown): Failure {
  const failure = error instanceof FieldFailure ? error : undefined
  const cause = (failure?.cause ?? error) as Error
  const mistake = mistakeOf(cause)
  const code = cause instanceof MapError || cause instanceof PythonFailure
  const suspect = cause instanceof NoColumnError ? 'column' : code ? 'code' : undefined
  return {
    field: failure?.field,
    stage: failure?.stage ?? stageOf(error, 'read'),
    problem: cause.message,
    ...(mistake && { mistake }),
    ...(suspect && { suspect }),
  }
}

/** The same, with the sample's name, and the file that the field is made of. */
export function nameBad(
  source: Source,
  row: number,
  { field, stage, ...failure }: Failure,
  fields: readonly NormalField[],
  epoch?: number,
): Pick<BadReport, 'where' | 'problem' | 'mistake' | 'suspect'> {
  const { from = [] } = fields.find(({ name }) => name === field) ?? {}
  const column = from.find(column => source.columns.includes(column))
  const where: SampleWhere = { id: source.id(row, epoch), ...source.where?.(row, column), field, stage }
  return { where, ...failure }
}

/** Which sample it is, and what is wrong with it. */
export function describeBad(
  source: Source,
  row: number,
  error: unknown,
  fields: readonly NormalField[],
  epoch?: number,
): ReturnType<typeof nameBad> {
  return nameBad(source, row, describeFailure(error), fields, epoch)
}
