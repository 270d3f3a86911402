/** Text that is tokenised: integers of any length, up to the field's greatest. */
import { isTiled } from '../../../core/basics/array.js'
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { tokenizing } from '../../../core/define/operators/text.js'
import type { Tokenizer } from '../../../core/define/tokenizer.js'
import type { NormalField } from '../../../core/define/types.js'
import type {
  FieldValue,
  Placed,
  RowContext,
  UserMap,
  VaryingProgram,
} from '../../../core/engine/make/program.js'
import { shown } from '../../decode/text/text.js'
import { arrayOf } from './encode.js'
import { mapped } from './mapped.js'

export function compileTokens(field: NormalField, tokenizer: Tokenizer, map?: UserMap): VaryingProgram {
  const rowOf = tokenRows(field, tokenizer)
  return {
    form: 'varying',
    run(value, context) {
      if (map === undefined) return rowOf(bytesOf(value), context)
      return mapped(field, map, Buffer.from(bytesOf(value)).toString(), context, text =>
        rowOf(Buffer.from(String(text)), context),
      )
    },
  }
}

/** The tokens of a text that stands for missing ones. */
export function missingTokens(field: NormalField, tokenizer: Tokenizer): VaryingProgram['missing'] {
  if (field.missing === undefined) return undefined
  const rowOf = tokenRows(field, tokenizer)
  const text = new TextEncoder().encode(String(field.missing))
  return context => rowOf(text, context)
}

/** Makes rows of texts. */
function tokenRows(
  field: NormalField,
  tokenizer: Tokenizer,
): (text: Uint8Array, context: RowContext) => Placed {
  const { truncate, append } = tokenizing(field)!
  const { dtype, max } = field.layout
  const last = append === 'eod' ? tokenizer.eod : append
  const most = last === undefined ? max! : max! - 1
  const bytes = DTYPES[dtype].bytes
  let tokens = new Uint32Array(4096)
  return (text, { work }) => {
    const room = tokenizer.room(text.length)
    if (tokens.length < room) tokens = new Uint32Array(2 * room)
    const found = tokenizer.encode(text, tokens, 0)
    const count = Math.min(found, most)
    const from = truncate === 'right' ? 0 : found - count
    const length = last === undefined ? count : count + 1
    const at = work.take(length * bytes)
    putTokens(tokens.subarray(from, from + count), dtype, work.u8, at)
    if (last !== undefined) putTokens(Uint32Array.of(last), dtype, work.u8, at + count * bytes)
    return { at, length }
  }
}

function bytesOf(value: FieldValue): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (isTiled(value)) throw new DecodeError(`is ${shown(value)}, not text`)
  return Buffer.from(String(value))
}

/** Writes tokens in the field's type. They fit: the vocabulary was held against it when the feed was opened. */
function putTokens(tokens: Uint32Array, dtype: Dtype, memory: Uint8Array, at: number): void {
  const place = memory.byteOffset + at
  if (dtype !== 'i64') {
    const row = arrayOf(dtype, memory.buffer, place, tokens.length) as Uint32Array
    row.set(tokens)
    return
  }
  const halves = new Uint32Array(memory.buffer, place, 2 * tokens.length)
  for (let i = 0; i < tokens.length; i++) {
    halves[2 * i] = tokens[i]
    halves[2 * i + 1] = 0
  }
}
