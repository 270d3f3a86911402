/** What may be written for sources of records: TFRecord, MDS, LitData. */
import type { TfrecordJson } from '../types.js'
import { paths } from './paths.js'
import { boolean, either, isObject, object, optional, type Parser } from './schema.js'

export const tfrecord: Parser<string | string[] | TfrecordJson> = either(
  isObject,
  object({ path: paths, check: optional(boolean) }) as Parser<TfrecordJson>,
  paths,
)
