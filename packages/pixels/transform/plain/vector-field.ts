/** Fields `as: "vector"`: the numbers of several columns, side by side in one row of the slot. */
import { isRead, isTiled, type TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { after, type Maybe, together } from '../../../core/basics/maybe.js'
import { landed } from '../../../core/basics/plain-array.js'
import { missingNumber } from '../../../core/define/check/missing.js'
import type { NormalField } from '../../../core/define/types.js'
import type { Columns, FieldValue, RowContext, WideProgram } from '../../../core/engine/make/program.js'
import { arrayOf, encoder } from './encode.js'
import { checker, compileNumberOps, singleNumber } from './number-field.js'

/**
 * Nothing, an empty cell and NaN have no value: what `missing` says is written there as it is, and without it the sample is bad.
 * Numbers are changed in f64 and rounded once.
 */
export function compileVector({ from, apply, missing, layout }: NormalField): WideProgram {
  const { dtype } = layout
  const check = checker(dtype)
  const encode = encoder(dtype)
  const change = compileNumberOps(apply)
  const filled = missing === undefined ? undefined : encode(missingNumber(missing as number | string))
  const write = (columns: Columns, at: number, context: RowContext): void => {
    const row = arrayOf(dtype, context.work.u8.buffer, at, from.length)
    for (let i = 0; i < from.length; i++) {
      const value = columns[from[i]]
      try {
        const number = typeof value === 'number' ? value : numberIn(value)
        if (Number.isNaN(number)) {
          if (filled === undefined) throw new DecodeError(noValue(value))
          row[i] = filled
          continue
        }
        const changed = change === undefined ? number : change(number, i)
        check(changed)
        row[i] = encode(changed)
      } catch (error) {
        throw new DecodeError(`column "${from[i]}": ${(error as Error).message}`, { cause: error })
      }
    }
  }
  return {
    form: 'wide',
    run(columns, at, context) {
      return after(withRead(columns, from, context.read), read => write(read, at, context))
    },
  }
}

/** The columns, with the bytes of arrays that were left where they are. */
export function withRead(
  columns: Columns,
  from: readonly string[],
  read: RowContext['read'],
): Maybe<Columns> {
  const unread = from.filter(name => {
    const value = columns[name]
    return isTiled(value) && !isRead(value)
  })
  if (unread.length === 0) return columns
  const arrays = unread.map(name => landed(columns[name] as TiledArray, read))
  return after(together(arrays), all => ({
    ...columns,
    ...Object.fromEntries(unread.map((name, i) => [name, all[i]])),
  }))
}

/** The number of a column; NaN where it has none. */
export function numberIn(value: FieldValue | null | undefined): number {
  if (value === undefined || value === null || (value as { length?: number }).length === 0) return Number.NaN
  return singleNumber(value)
}

function noValue(value: FieldValue | null | undefined): string {
  const what = value === undefined || value === null ? 'has no value' : value === '' ? 'is empty' : 'is NaN'
  return `${what}: "missing" of the field says what stands for that`
}
