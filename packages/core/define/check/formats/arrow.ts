/** What may be written for Arrow files and folders of datasets. */
import { paths } from '../paths.js'
import { either, isObject, object, optional, text } from '../schema.js'

export const arrow = either(
  isObject,
  object({ path: paths, split: optional(text), root: optional(text) }),
  paths,
)
