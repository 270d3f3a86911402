/** Parquet files. */

import { boolean, either, isObject, object, optional, text } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import { where, whereJson } from '../../core/define/check/where.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { withOptions } from '../paths.js'
import type { ParquetJson, ParquetOptions } from './open.js'

export interface ParquetTypes {
  parquet: ParquetJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends ParquetTypes {}
}

/** Parquet files: a row is a sample; its columns are those of the files. `where` takes the rows that meet conditions on columns. */
export const parquet = (path: PathsJson, options: ParquetOptions = {}): SourceJson => ({
  parquet: withOptions(path, { ...options, ...(options.where && { where: whereJson(options.where) }) }),
})

export const parquetFormat: Format<ParquetJson> = {
  name: 'parquet',
  says: 'Parquet files: a row is a sample.',
  example: 'train-*.parquet',
  shape: either(
    isObject,
    object({ path: paths, where: optional(where), root: optional(text), checksums: optional(boolean) }),
    paths,
  ),
  finds: {
    names: /\.(parquet|pq)$/i,
    start: start => start.toString('latin1', 0, 4) === 'PAR1',
    many: true,
  },
  facts: {
    table: true,
    python: {
      says: 'Parquet files: a row is a sample; its columns are those of the files. ``where`` takes the rows that meet conditions on columns: ``{"width": {">=": 256}, "label": [1, 2]}``. ``root``: where files that rows name may lie, besides the folder of the table. With ``checksums=False`` checksums that pages have are not compared.',
      options: {
        where: 'Where',
        root: 'Path',
        checksums: 'bool',
      },
    },
  },
  load: async () => (await import('./open.js')).parquet,
}
