/** What may be written for `parquet`. */

import { boolean, either, isObject, object, optional, text } from '../../../basics/shape.js'
import { paths } from '../paths.js'
import { where } from './where.js'

export const parquet = either(
  isObject,
  object({ path: paths, where: optional(where), root: optional(text), checksums: optional(boolean) }),
  paths,
)
