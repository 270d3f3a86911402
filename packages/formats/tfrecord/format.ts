/** TFRecord files. */
import { boolean, either, isObject, object, optional } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { oneOrMore } from '../paths.js'
import type { TfrecordJson } from './open.js'
import { FRAME, lengthAt } from './record.js'

export interface TfrecordTypes {
  tfrecord: PathsJson | TfrecordJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends TfrecordTypes {}
}

/** TFRecord files: paths or patterns; the features of a tf.Example are columns. `check: false` compares no checksums of data. */
export function tfrecord(json: TfrecordJson): SourceJson
export function tfrecord(...paths: string[]): SourceJson
export function tfrecord(...given: (string | TfrecordJson)[]): SourceJson {
  const [first] = given
  return { tfrecord: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

export const tfrecordFormat: Format<PathsJson | TfrecordJson> = {
  name: 'tfrecord',
  says: 'TFRecord files: the features of a tf.Example are columns.',
  example: 'train-*.tfrecord',
  shape: either(isObject, object({ path: paths, check: optional(boolean) }), paths),
  finds: {
    names: /\.tfrecords?(\.gz)?$/i,
    start: start => start.length >= FRAME && lengthAt(start, 0) !== undefined,
    many: true,
  },
  facts: {
    moreColumns: true,
    python: {
      says: 'TFRecord files: paths or patterns such as ``train-*.tfrecord``. The features of a tf.Example are columns, and ``record`` is the record as it lies there. ``check=False`` compares no checksums of data.',
      options: {
        check: 'bool',
      },
    },
  },
  load: async () => (await import('./open.js')).tfrecord,
}
