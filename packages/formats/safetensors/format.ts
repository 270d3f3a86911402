/** .safetensors files. */
import { either, isObject, object } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { type ArrayFilesJson, type ArrayOptions, rows } from '../arrays/manifest.js'
import { withOptions } from '../paths.js'

export interface SafetensorsTypes {
  safetensors: ArrayFilesJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends SafetensorsTypes {}
}

/** .safetensors files: as npz. */
export const safetensors = (path: PathsJson, options: ArrayOptions = {}): SourceJson => ({
  safetensors: withOptions(path, options),
})

export const safetensorsFormat: Format<ArrayFilesJson> = {
  name: 'safetensors',
  says: 'Files of tensors: each is a sample, or each step along their first axis.',
  example: 'features/*.safetensors',
  shape: either(isObject, object({ path: paths, rows }), paths),
  finds: {
    names: /\.safetensors$/i,
    // The length of its header, u64, and the beginning of JSON.
    start: start => /^.{6}(00){5}7b22/.test(start.toString('hex', 0, 10)),
    many: true,
  },
  facts: {
    namedByFiles: true,
    python: {
      says: '.safetensors files: each is a sample with a column for each tensor; with ``rows="axis"``, each step along their first axis is.',
      options: {
        rows: 'str',
      },
    },
  },
  load: async () => (await import('./open.js')).safetensors,
}
