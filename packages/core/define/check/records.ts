/** What may be written for sources of records: TFRecord, MDS, LitData. */

import { boolean, either, integer, isObject, object, optional, type Parser } from '../../basics/shape.js'
import type { LitdataJson, MdsJson, TfrecordJson } from '../types.js'
import { paths } from './paths.js'

export const tfrecord: Parser<string | string[] | TfrecordJson> = either(
  isObject,
  object({ path: paths, check: optional(boolean) }) as Parser<TfrecordJson>,
  paths,
)

export const mds: Parser<string | string[] | MdsJson> = either(
  isObject,
  object({ path: paths }) as Parser<MdsJson>,
  paths,
)

export const litdata: Parser<string | string[] | LitdataJson> = either(
  isObject,
  object({ path: paths, block: optional(integer({ min: 1 })) }) as Parser<LitdataJson>,
  paths,
)
