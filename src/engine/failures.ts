/** What went wrong with a row: which field it was, at which stage, and which sample. */
import { DecodeError, type SampleWhere } from '../errors.js'
import type { Source } from '../source/source.js'
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

/** Which sample it is, and what is wrong with it. */
export function describeBad(
  source: Source,
  row: number,
  error: unknown,
): { where: SampleWhere; problem: string } {
  const failure = error instanceof FieldFailure ? error : undefined
  const where: SampleWhere = {
    id: source.id(row),
    ...source.where?.(row),
    field: failure?.field,
    stage: failure?.stage ?? stageOf(error, 'read'),
  }
  return { where, problem: ((failure?.cause ?? error) as Error).message }
}
