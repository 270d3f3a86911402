/** Zarr stores, version 2 or 3. */
import {
  either,
  isObject,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { withOptions } from '../paths.js'
import type { ZarrJson, ZarrOptions } from './open.js'

export interface ZarrTypes {
  zarr: ZarrJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends ZarrTypes {}
}

/**
 * Zarr arrays of version 2 or 3, whose first axis is the rows: `zarr('train.zarr', { arrays: { image: 'images', label: 'y' } })`.
 * With `rows: 'groups'` each group is a row.
 */
export const zarr = (path: PathsJson, options: ZarrOptions = {}): SourceJson => ({
  zarr: withOptions(path, options),
})

const arrays: Parser<unknown> = either(
  isObject,
  record(text, 'paths of arrays by the names of columns, such as {"image": "images"}'),
  paths,
)

export const zarrFormat: Format<ZarrJson> = {
  name: 'zarr',
  says: 'Zarr arrays of version 2 or 3: a step along the first axis is a sample, or a group is.',
  example: { path: 'train.zarr', arrays: { image: 'images', label: 'y' } },
  shape: either(
    isObject,
    object({
      path: paths,
      arrays: optional(arrays),
      rows: optional(oneOf(['axis', 'groups'], 'kind of rows')),
    }),
    paths,
  ),
  finds: {
    names: /\.zarr(\.zip)?\/?$/i,
    markers: [
      ['zarr.json', 'zarr_format'],
      ['.zgroup', 'zarr_format'],
      ['.zarray', 'zarr_format'],
      ['.zmetadata', 'zarr_format'],
    ],
  },
  facts: {
    ownFolder: true,
    python: {
      says: 'Zarr arrays of version 2 or 3, whose first axis is the rows: ``zarr("train.zarr", arrays={"image": "images", "label": "y"})``. ``arrays`` are paths in the store, with wildcards, or paths by the names of columns; by default all. ``rows="groups"``: each group is a row.',
      options: {
        arrays: 'Union[str, Sequence[str], Mapping[str, str]]',
        rows: 'str',
      },
    },
  },
  load: async () => (await import('./open.js')).zarr,
}
