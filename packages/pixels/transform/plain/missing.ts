/** The program of a field for samples that lack its columns: what the definition says stands for them. */
import { elements } from '../../../core/basics/dtype.js'
import { missingNumber } from '../../../core/define/check/missing.js'
import type { Tokenizer } from '../../../core/define/tokenizer.js'
import type { MissingJson, NormalField } from '../../../core/define/types.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import type { DenseProgram, VaryingProgram } from '../field.js'
import { arrayOf, encoder } from './encode.js'
import { tokenRows } from './token-field.js'

/** Nothing is given to it: its value is never looked at. */
export type MissingProgram =
  | { form: 'dense'; run: (at: number, context: Parameters<DenseProgram['run']>[2]) => void }
  | {
      form: 'varying'
      run: (context: Parameters<VaryingProgram['run']>[1]) => { at: number; length: number }
    }

/** Undefined where a sample without them is a bad one. */
export function compileMissing(field: NormalField, tokenizer?: Tokenizer): MissingProgram | undefined {
  const { missing, layout } = field
  if (missing === undefined) return undefined
  if (layout.form === 'dense') return dense(field, missing as number | string)
  const bytes = new TextEncoder().encode(typeof missing === 'string' ? missing : '')
  if (tokenizer !== undefined) {
    const rowOf = tokenRows(field, tokenizer)
    return { form: 'varying', run: context => rowOf(bytes, context) }
  }
  return {
    form: 'varying',
    run({ work }) {
      const at = work.take(bytes.length)
      copyInto(work, bytes, at)
      return { at, length: bytes.length }
    },
  }
}

function dense({ as, layout }: NormalField, missing: Exclude<MissingJson, never[]>): MissingProgram {
  const { dtype, shape } = layout
  const number = missingNumber(missing)
  const encode = encoder(dtype)
  const oneHot = as !== 'npy' && shape.length > 0
  return {
    form: 'dense',
    run(at, { work }) {
      const row = arrayOf(dtype, work.u8.buffer, at, elements(shape))
      if (!oneHot) row.fill(encode(number))
      else {
        row.fill(encode(0))
        row[number] = encode(1)
      }
    },
  }
}
