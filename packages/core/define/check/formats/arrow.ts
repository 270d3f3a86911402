/** What may be written for Arrow files and folders of datasets. */

import { either, isObject, object, optional, text } from '../../../basics/shape.js'
import { paths } from '../paths.js'

export const arrow = either(
  isObject,
  object({ path: paths, split: optional(text), root: optional(text) }),
  paths,
)
