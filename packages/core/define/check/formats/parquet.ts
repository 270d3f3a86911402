/** What may be written for `parquet`. */
import { paths } from '../paths.js'
import { boolean, either, isObject, object, optional, text } from '../schema.js'
import { where } from './where.js'

export const parquet = either(
  isObject,
  object({ path: paths, where: optional(where), root: optional(text), checksums: optional(boolean) }),
  paths,
)
