/** HDF5 and netCDF-4 files. */
import { DefinitionError } from '../../core/basics/errors.js'
import { at } from '../../core/basics/mistakes.js'
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
import type { Hdf5Json, Hdf5Options } from './open.js'

export interface Hdf5Types {
  hdf5: PathsJson | Hdf5Json
  netcdf4: PathsJson | Hdf5Json
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends Hdf5Types {}
}

/** HDF5 files, by paths or patterns: a sample is a row of the first axis, or a group. */
export const hdf5 = (path: PathsJson, options: Hdf5Options = {}): SourceJson => ({
  hdf5: withOptions(path, options),
})

/** netCDF-4 files, which are HDF5 files with names for their axes. */
export const netcdf4 = (path: PathsJson, options: Hdf5Options = {}): SourceJson => ({
  netcdf4: withOptions(path, options),
})

const described = object({
  path: paths,
  datasets: optional(record(text, 'paths of datasets by the names of their columns, such as {"x": "/x"}')),
  rows: optional(oneOf(['axis', 'groups'], 'kind of rows')),
})

const shape: Parser<unknown> = either(isObject, withPatterns, paths)

function withPatterns(value: unknown, path: string): Hdf5Json {
  const json = described(value, path) as Hdf5Json
  const datasets = Object.values(json.datasets ?? {})
  if (json.datasets !== undefined && datasets.length === 0)
    throw new DefinitionError(
      at(path, 'datasets'),
      'names no dataset: leave it out to take all, or name some',
    )
  const stars = datasets.map(dataset => dataset.split('*').length - 1)
  const none = stars.length === 0 || stars[0] === 0
  if ((none && json.rows === 'groups') || stars.some(n => n !== stars[0])) {
    throw new DefinitionError(
      at(path, 'datasets'),
      'groups are named by patterns with as many stars in each, such as {"image": "data/*/obs/img", "action": "data/*/action"}',
    )
  }
  return json
}

export const hdf5Format: Format<PathsJson | Hdf5Json> = {
  name: 'hdf5',
  says: 'HDF5 files: a row of the first axis of their datasets is a sample, or a group is.',
  example: { path: 'train.h5', datasets: { image: '/images', label: '/labels' } },
  shape,
  finds: {
    names: /\.(h5|hdf5|he5|hdf)$/i,
    start: start => start.toString('latin1', 0, 8) === '\x89HDF\r\n\x1a\n',
    many: true,
  },
  facts: {
    python: {
      says: 'HDF5 files, by paths or patterns: ``hdf5("train-*.h5", datasets={"image": "/x", "label": "/y"})``.\n\nA sample is a row of the first axis of all datasets. Without ``datasets``, these are all whose first axes are as long as each other. A star stands for groups, whose rows follow each other, as the steps of all episodes: ``datasets={"image": "data/*/obs/img", "action": "data/*/action"}``. With ``rows="groups"``, a sample is such a group, with all of its datasets.',
      options: {
        datasets: 'Mapping[str, str]',
        rows: 'str',
      },
    },
  },
  load: async () => (await import('./open.js')).hdf5,
}

export const netcdf4Format: Format<PathsJson | Hdf5Json> = {
  ...hdf5Format,
  name: 'netcdf4',
  says: 'netCDF-4 files, which are HDF5 files with names for their axes.',
  example: 'era5-*.nc',
  finds: { names: /\.(nc|nc4|netcdf)$/i, many: true },
  facts: {
    python: {
      says: 'netCDF-4 files, which are HDF5 files with names for their axes: as :func:`hdf5`.',
      options: {
        datasets: 'Mapping[str, str]',
        rows: 'str',
      },
    },
  },
}
