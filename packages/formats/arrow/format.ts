/** Arrow files and streams, and folders that Hugging Face's datasets saved. */
import { either, isObject, object, optional, text } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { withOptions } from '../paths.js'
import type { ArrowJson, ArrowOptions } from './find.js'

export interface ArrowTypes {
  arrow: ArrowJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends ArrowTypes {}
}

/** Arrow files and streams (Feather too), or a folder that Hugging Face's datasets saved: rows are samples. */
export const arrow = (path: PathsJson, options: ArrowOptions = {}): SourceJson => ({
  arrow: withOptions(path, options),
})

/** A file; or a stream: no length, that of the schema, and the first offset in it. */
const FILE_OR_STREAM = /^(?:4152524f5731|f{8}.[08]..0000(?:10|0c)00)/

export const arrowFormat: Format<ArrowJson> = {
  name: 'arrow',
  says: "Arrow files and streams, or a folder that Hugging Face's datasets saved: a row is a sample.",
  example: 'train-*.arrow',
  shape: either(isObject, object({ path: paths, split: optional(text), root: optional(text) }), paths),
  finds: {
    names: /\.(arrow|feather)$/i,
    start: start => FILE_OR_STREAM.test(start.toString('hex', 0, 10)),
    markers: [
      ['state.json', '_data_files'],
      ['dataset_dict.json', 'splits'],
    ],
    many: true,
  },
  facts: {
    table: true,
    python: {
      says: "Arrow files and streams (Feather too), by paths or patterns, or a folder that Hugging Face's datasets saved; ``split`` says which, of a folder with several. Rows are samples. ``root``: where files that rows name may lie, besides the folder of the table.",
      options: {
        split: 'str',
        root: 'Path',
      },
    },
  },
  load: async () => (await import('./open.js')).arrow,
}
