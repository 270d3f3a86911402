/** What a field has for samples that lack its columns, where the definition says what stands for them. */
import { elements } from '../../../core/basics/dtype.js'
import { missingNumber } from '../../../core/define/check/missing.js'
import type { NormalField } from '../../../core/define/types.js'
import type { DenseProgram, VaryingProgram } from '../../../core/engine/make/program.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import { arrayOf, encoder } from './encode.js'

/** A number in all elements; of a label that the batch mixes, the share 1 of its class. */
export function missingRow(
  { missing, layout: { dtype, shape } }: NormalField,
  label = false,
): DenseProgram['missing'] {
  if (missing === undefined) return undefined
  const number = missingNumber(missing as number | string)
  const encode = encoder(dtype)
  const isShares = label && shape.length > 0
  return (at, { work }) => {
    const row = arrayOf(dtype, work.u8.buffer, at, elements(shape))
    row.fill(encode(isShares ? 0 : number))
    if (isShares) row[number] = encode(1)
  }
}

/** A text, or nothing. */
export function missingBytes({ missing }: NormalField): VaryingProgram['missing'] {
  if (missing === undefined) return undefined
  const bytes = new TextEncoder().encode(typeof missing === 'string' ? missing : '')
  return ({ work }) => {
    const at = work.take(bytes.length)
    copyInto(work, bytes, at)
    return { at, length: bytes.length }
  }
}
