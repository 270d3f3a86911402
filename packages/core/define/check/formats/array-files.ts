/** What may be written for `npy`, `npz` and `safetensors`. */

import {
  either,
  isObject,
  isText,
  list,
  object,
  oneOf,
  optional,
  type Parser,
  text,
} from '../../../basics/shape.js'
import type { ArrayFilesJson, NpyFilesJson } from '../../types.js'

const paths: Parser<string | string[]> = either(
  isText,
  text,
  list(text, 'a path, a pattern or a list of them', { min: 1 }),
)

const rows = optional(oneOf(['files', 'axis'], 'kind of rows'))

export const arrayFiles: Parser<ArrayFilesJson> = either(isObject, object({ path: paths, rows }), paths)

/** `npy` may name its column. */
export const npyFiles: Parser<NpyFilesJson> = either(
  isObject,
  object({ path: paths, rows, column: optional(text) }),
  paths,
)
