/** .npz files: archives of arrays. */
import { either, isObject, object } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { type ArrayFilesJson, type ArrayOptions, rows } from '../arrays/manifest.js'
import { withOptions } from '../paths.js'

export interface NpzTypes {
  npz: ArrayFilesJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends NpzTypes {}
}

/** .npz files: each is a sample with a column for each array; with `rows: 'axis'`, each step along their first axis is. */
export const npz = (path: PathsJson, options: ArrayOptions = {}): SourceJson => ({
  npz: withOptions(path, options),
})

export const npzFormat: Format<ArrayFilesJson> = {
  name: 'npz',
  says: 'Archives of NumPy arrays: each is a sample, or each step along their first axis.',
  example: 'volumes/*.npz',
  shape: either(isObject, object({ path: paths, rows }), paths),
  finds: { names: /\.npz$/i, many: true },
  facts: {
    namedByFiles: true,
    python: {
      says: 'NumPy\'s .npz files: each is a sample with a column for each array; with ``rows="axis"``, each step along their first axis is.',
      options: {
        rows: 'str',
      },
    },
  },
  load: async () => (await import('./open.js')).npz,
}
