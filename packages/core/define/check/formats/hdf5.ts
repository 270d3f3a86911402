/** What may be written for the sources `hdf5` and `netcdf4`. */
import { DefinitionError } from '../../../basics/errors.js'
import { at } from '../../../basics/mistakes.js'
import {
  either,
  isObject,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../../basics/shape.js'
import type { Hdf5Json } from '../../types.js'
import { paths } from '../paths.js'

const shape = object({
  path: paths,
  datasets: optional(record(text, 'paths of datasets by the names of their columns, such as {"x": "/x"}')),
  rows: optional(oneOf(['axis', 'groups'], 'kind of rows')),
})

const described: Parser<Hdf5Json> = (value, path) => {
  const json = shape(value, path) as Hdf5Json
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

export const hdf5: Parser<unknown> = either(isObject, described, paths)
