/** What may be written for `parquet`. */
import { paths } from '../paths.js'
import { either, isObject, object } from '../schema.js'

export const parquet = either(isObject, object({ path: paths }), paths)
