/** .npy files. */
import { either, isObject, object, optional, text } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { rows } from '../arrays/manifest.js'
import { withOptions } from '../paths.js'
import type { NpyFilesJson, NpyOptions } from './open.js'

export interface NpyTypes {
  npy: NpyFilesJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends NpyTypes {}
}

/**
 * .npy files: each is a sample, column `data` or `column`; with `rows: 'axis'`, each step along the first axis is:
 * `zip(npyFiles('x.npy', { rows: 'axis' }), npyFiles('y.npy', { rows: 'axis', column: 'label' }))`.
 */
export const npyFiles = (path: PathsJson, options: NpyOptions = {}): SourceJson => ({
  npy: withOptions(path, options),
})

export const npyFormat: Format<NpyFilesJson> = {
  name: 'npy',
  says: 'Files of one NumPy array: each is a sample, or each step along the first axis.',
  example: { path: 'x.npy', rows: 'axis' },
  shape: either(isObject, object({ path: paths, rows, column: optional(text) }), paths),
  finds: {
    names: /\.npy$/i,
    start: start => start.toString('latin1', 0, 6) === '\x93NUMPY',
    many: true,
  },
  facts: {
    namedByFiles: true,
    python: {
      name: 'npy_files',
      says: 'NumPy\'s .npy files: each is a sample, column ``data`` or ``column``; with ``rows="axis"``, each step along the first axis is: ``zip(npy_files("x.npy", rows="axis"), npy_files("y.npy", rows="axis", column="label"))``.',
      options: {
        rows: 'str',
        column: 'str',
      },
    },
  },
  load: async () => (await import('./open.js')).npy,
}
