/** What may be written for sources of text files: csv, jsonl, text. */

import { wrong } from '../../basics/mistakes.js'
import {
  boolean,
  either,
  isObject,
  list,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../basics/shape.js'
import type { CsvType } from '../types.js'
import { paths } from './paths.js'

const TYPES: readonly CsvType[] = ['int', 'float', 'bool', 'text']

const delimiter: Parser<string> = (value, path) => {
  const one = text(value, path)
  if (one.length === 1 && one.charCodeAt(0) < 128 && !/["\n\r]/.test(one)) return one
  throw wrong(path, 'one ASCII character, such as ";" or "\\t"', value)
}

export const jsonl = either(isObject, object({ path: paths }), paths)

export const csv = either(
  isObject,
  object({
    path: paths,
    delimiter: optional(delimiter),
    header: optional(boolean),
    columns: optional(list(text, 'a list of names', { min: 1 })),
    types: optional(record(oneOf(TYPES, 'type'), 'types by column, such as {"id": "text"}')),
  }),
  paths,
)

export const textLines = either(
  isObject,
  object({ path: paths, blankLines: optional(oneOf(['keep', 'skip'], 'choice')) }),
  paths,
)
