/** What may be written for the source `zarr`. */

import {
  either,
  isObject,
  isText,
  list,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../basics/shape.js'
import type { ZarrJson } from '../types.js'

const paths: Parser<string | string[]> = either(
  isText,
  text,
  list(text, 'a path, a pattern or a list of them', { min: 1 }),
)

const arrays: Parser<string | string[] | Record<string, string>> = either(
  isObject,
  record(text, 'paths of arrays by the names of columns, such as {"image": "images"}'),
  paths,
)

export const zarr: Parser<ZarrJson> = either(
  isObject,
  object({
    path: paths,
    arrays: optional(arrays),
    rows: optional(oneOf(['axis', 'groups'], 'kind of rows')),
  }),
  paths,
) as Parser<ZarrJson>
