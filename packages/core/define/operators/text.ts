/** The operator of text: `tokenize` makes integers of it. */
import type { Dtype } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import {
  either,
  integer,
  isObject,
  isText,
  object,
  oneOf,
  optional,
  type Parser,
  text,
  withDefault,
} from '../../basics/shape.js'
import type { FieldJson, NormalField, NormalOp } from '../types.js'

/** Element types of tokens; the first is the default. */
export const TOKEN_DTYPES: readonly Dtype[] = ['i64', 'i32', 'u32', 'u16', 'i16', 'u8']

/** A tokenizer as a definition names it, with its defaults. */
export interface TokenizerParams {
  path: string
  special: 'text' | 'parse'
  invalid: 'replace' | 'fatal'
  pattern?: 'gpt2' | 'cl100k' | 'qwen2' | 'o200k'
}

/** The parameters of `tokenize` in normal form. */
export interface TokenizeParams {
  tokenizer: TokenizerParams
  max?: number
  truncate: 'right' | 'left'
  append?: 'eod' | number
}

/** The operator as it is written. */
export interface TokenizeJson {
  tokenize:
    | string
    | {
        tokenizer: string | (Partial<TokenizerParams> & { path: string })
        max?: number
        truncate?: 'right' | 'left'
        special?: 'text' | 'parse'
        append?: 'eod' | number
      }
}

const special = oneOf(['text', 'parse'], 'meaning of special tokens in a text')
const tokenizerKeys = object({
  path: text,
  special: optional(special),
  // As in every field of text: what is no UTF-8 makes a bad sample.
  invalid: withDefault(oneOf(['replace', 'fatal'], 'answer to text that is no UTF-8'), 'fatal'),
  pattern: optional(oneOf(['gpt2', 'cl100k', 'qwen2', 'o200k'], 'pattern of words')),
})
/** A path, or an object with one. */
const tokenizer: Parser<unknown> = (value, path) =>
  tokenizerKeys(isText(value) ? { path: value } : value, path)
const keys = object({
  tokenizer,
  max: optional(integer({ min: 1, max: 2 ** 24 })),
  truncate: withDefault(oneOf(['right', 'left'], 'side'), 'right'),
  special: optional(special),
  append: optional(either(isText, oneOf(['eod'], 'token'), integer({ min: 0, max: 2 ** 31 - 1 }))),
})

/** The operators of a field of text: none, or `tokenize`. */
export function textOps({ apply = [] }: FieldJson, path: string): NormalOp[] {
  return apply.map((json, i) => {
    const here = at(path, i)
    const names = isObject(json) ? Object.keys(json).filter(key => json[key] !== undefined) : [json]
    if (names.length !== 1 || typeof names[0] !== 'string' || !isObject(json))
      throw wrong(
        here,
        'an operator, such as {"tokenize": {"tokenizer": "tokenizer.json", "max": 2048}}',
        json,
      )
    if (names[0] !== 'tokenize') throw unknownName(here, 'operator of text', names[0], ['tokenize'])
    const inside = at(here, 'tokenize')
    if (i > 0) throw new DefinitionError(inside, 'stands alone: a field has one tokenizer')
    const written = json.tokenize
    const { special: beside, ...given } = keys(isText(written) ? { tokenizer: written } : written, inside)
    const named = given.tokenizer as TokenizerParams
    if (beside !== undefined && named.special !== undefined && beside !== named.special)
      throw new DefinitionError(at(inside, 'special'), 'the tokenizer says another one: give one of the two')
    const params: TokenizeParams = {
      ...given,
      tokenizer: { ...named, special: beside ?? named.special ?? 'text' },
    }
    return { name: 'tokenize', ordinal: 0, params: params as unknown as NormalOp['params'] }
  })
}

/** How a field is tokenised, where it is. */
export function tokenizing({ apply }: Pick<NormalField, 'apply'>): TokenizeParams | undefined {
  const [op] = apply
  return op?.name === 'tokenize' ? (op.params as unknown as TokenizeParams) : undefined
}
