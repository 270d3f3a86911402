/** Text, JSON and bytes: rows of bytes of any length; or of tokens, which a tokenizer makes of text. */
import { DefinitionError } from '../../core/basics/errors.js'
import { at, wrong } from '../../core/basics/mistakes.js'
import type { Decoder, FieldRules } from '../../core/define/kind.js'
import { dtypeOf, varyingLayout } from '../../core/define/layout.js'
import { bytesOfElements } from '../../core/define/limits.js'
import { TOKEN_DTYPES, textOps, tokenizing } from '../../core/define/operators/text.js'
import { decodeJson } from '../decode/text/json.js'
import { decodeText } from '../decode/text/text.js'
import { missingBytes } from '../transform/plain/missing.js'
import { compileText } from '../transform/plain/text-field.js'
import { compileTokens, missingTokens } from '../transform/plain/token-field.js'
import { bounded } from './compile.js'

/** Bytes of one row, where a definition does not say. */
const MAX_BYTES = 65536
/** A text that is tokenised, and may be cut then. */
const TOKENISED_BYTES = 64 * 1024 * 1024

/** What means something only for a text that is tokenised. */
const OF_TOKENS = ['apply', 'dtype', 'pad'] as const

const layoutAs =
  (form: 'text' | 'ragged'): Decoder['layout'] =>
  (name, fields, path) => {
    const here = at(path, name)
    const dtype = dtypeOf(fields[name], here)
    return varyingLayout(name, fields[name], here, { dtype, shape: [], usual: MAX_BYTES, form })
  }

const limit: FieldRules['limit'] = field => ({ most: bytesOfElements(field), mend: 'raise "max"' })
const compile: Decoder['compile'] = (field, _, map) =>
  bounded(field, compileText(field, map), missingBytes(field))

export const text: Decoder = {
  name: 'text',
  says: 'Text in UTF-8: a string a row, or its tokens.',
  example: { from: 'txt', as: 'text' },
  rules: {
    dtypes: ['u8'],
    keys: ['ragged', 'missing', 'map', ...OF_TOKENS],
    traits: { bytes: true, columns: ['txt', 'text', 'caption', 'class', 'path', 'name'] },
    operators: (name, fields, path) => textOps(fields[name], at(at(path, name), 'apply')),
    check(name, fields, path) {
      const field = fields[name]
      const key = field.apply?.length ? undefined : OF_TOKENS.find(key => field[key] !== undefined)
      if (key === undefined) return
      throw new DefinitionError(
        at(at(path, name), key),
        'means nothing for text, unless "apply" has {"tokenize": …}, which makes integers of it',
      )
    },
    limit: field =>
      tokenizing(field) === undefined ? limit(field) : { most: TOKENISED_BYTES, mend: 'cut the text' },
  },
  layout(name, fields, path) {
    const field = fields[name]
    const here = at(path, name)
    const tokens = tokenizing({ apply: textOps(field, at(here, 'apply')) })
    if (tokens === undefined) return layoutAs('text')(name, fields, path)
    const dtype = dtypeOf(field, here, TOKEN_DTYPES, { what: 'a token' })
    return varyingLayout(name, field, here, { dtype, shape: [], max: tokens.max })
  },
  compile(field, { tokenizer, ...slot }, map) {
    if (tokenizer === undefined) return compile(field, slot, map)
    return bounded(field, compileTokens(field, tokenizer, map), missingTokens(field, tokenizer))
  },
  verify: () => decodeText,
}

export const json: Decoder = {
  name: 'json',
  says: 'A JSON value, as text.',
  example: { from: 'json', as: 'json' },
  rules: {
    dtypes: ['u8'],
    keys: ['ragged', 'missing', 'map'],
    traits: { bytes: true, columns: ['json'] },
    check(name, fields, path) {
      const { missing } = fields[name]
      if (typeof missing !== 'string') return
      try {
        JSON.parse(missing)
      } catch {
        throw wrong(at(at(path, name), 'missing'), 'the text of a JSON value, such as "null"', missing)
      }
    },
    limit,
  },
  layout: layoutAs('text'),
  compile,
  verify: () => decodeJson,
}

export const bytes: Decoder = {
  name: 'bytes',
  says: 'Bytes as they are.',
  example: { from: 'bin', as: 'bytes' },
  rules: {
    dtypes: ['u8'],
    keys: ['dtype', 'ragged', 'pad', 'compression', 'missing', 'map'],
    traits: { bytes: true },
    limit,
  },
  layout: layoutAs('ragged'),
  compile,
}
