/** Arrays of which a batch has only parts, along their one axis: those of a rank that shares its rows with others. */
import { isTiled } from '../../../core/basics/array.js'
import { DTYPES } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { RowWindow } from '../../../core/define/making.js'
import type { NormalField } from '../../../core/define/types.js'
import type { DenseProgram } from '../../../core/engine/make/program.js'
import { cropped } from './array-views.js'
import { putArray } from './put-array.js'

export function compileWindows({ layout }: NormalField, windows: readonly RowWindow[]): DenseProgram {
  const { dtype, shape } = layout
  const { bytes } = DTYPES[dtype]
  return {
    form: 'dense',
    run(value, at, context) {
      if (!isTiled(value) || value.shape.length !== 1 || value.shape[0] !== shape[0])
        throw new DecodeError(`expected an array of ${shape[0]} elements, which is then cut`)
      for (const { from, to, at: place } of windows) {
        const pending = putArray(cropped(value, [from], [to - from]), dtype, at + place * bytes, context)
        if (pending) throw new DecodeError('an array that is not read yet is not cut')
      }
    },
  }
}
