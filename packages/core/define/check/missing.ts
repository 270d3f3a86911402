/** What a field has in place of a value that a sample lacks: checked against the field's type before anything is read. */
import { type Dtype, rangeOf } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { at, wrong } from '../../basics/mistakes.js'
import { decoderOf } from '../kind.js'
import { isFloat } from '../layout.js'
import type { FieldJson, FieldLayout, MissingJson } from '../types.js'

/** What JSON can't write as a number. */
const NAMED: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, '-inf': -Infinity }

/** The number that stands for missing ones. */
export function missingNumber(missing: number | string): number {
  return typeof missing === 'number' ? missing : NAMED[missing]
}

/** The value as it may be written for this kind of field. */
export function parseMissing(value: unknown, path: string): MissingJson {
  const empty = Array.isArray(value) && value.length === 0
  const number = typeof value === 'number' && Number.isFinite(value)
  if (number || typeof value === 'string' || empty) return value as MissingJson
  throw wrong(path, 'a number, "nan", "inf", "-inf", a text, or [] for a row without elements', value)
}

/** `layout` is that of the definition, and then that of the batch, where labels that are mixed have one number a class. */
export function checkMissing({ as, missing, apply }: FieldJson, layout: FieldLayout, path: string): void {
  if (missing === undefined) return
  const here = at(path, 'missing')
  const { bytes: isBytes, label } = decoderOf({ as }).rules.traits ?? {}
  if (isBytes) {
    if (typeof missing !== 'string') throw wrong(here, 'a text', missing)
    const bytes = Buffer.byteLength(missing)
    if (bytes > layout.max! && !apply?.length)
      throw new DefinitionError(here, `has ${bytes} bytes, more than the greatest length of ${layout.max}`)
  } else if (layout.form !== 'dense') {
    if (!Array.isArray(missing)) throw wrong(here, '[], a row without elements', missing)
  } else checkNumber(missing, layout.dtype, here)
  const [classes] = layout.shape
  if (!label || classes === undefined) return
  if ((missing as number) < 0 || (missing as number) >= classes)
    throw wrong(here, `a class, 0 to ${classes - 1}, since the batch mixes them`, missing)
}

function checkNumber(missing: MissingJson, dtype: Dtype, path: string): void {
  const name = typeof missing === 'string' && Object.hasOwn(NAMED, missing)
  if (isFloat(dtype)) {
    if (typeof missing === 'number' || name) return
    throw wrong(path, `a number, "nan", "inf" or "-inf", for ${dtype}`, missing)
  }
  const [least, most] = rangeOf(dtype)!
  if (Number.isInteger(missing) && (missing as number) >= least && (missing as number) <= most) return
  throw wrong(path, `a whole number from ${least} to ${most}, for ${dtype}`, missing)
}
