/** What may be written for `npy`, `npz` and `safetensors`. */
import type { ArrayFilesJson } from '../../types.js'
import { either, isObject, isText, list, object, oneOf, optional, type Parser, text } from '../schema.js'

const paths: Parser<string | string[]> = either(
  isText,
  text,
  list(text, 'a path, a pattern or a list of them', { min: 1 }),
)

export const arrayFiles: Parser<ArrayFilesJson> = either(
  isObject,
  object({ path: paths, rows: optional(oneOf(['files', 'axis'], 'kind of rows')) }),
  paths,
)
