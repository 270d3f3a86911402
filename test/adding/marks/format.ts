/** Files of marks, a toy that shows what a new format takes: this descriptor, `open.ts`, and a line in packages/all/registry.ts. */
import { either, integer, isObject, object, optional } from '../../../packages/core/basics/shape.js'
import { paths } from '../../../packages/core/define/check/paths.js'
import type { Format } from '../../../packages/core/define/format.js'
import type { PathsJson, SourceJson } from '../../../packages/core/define/types.js'
import { withOptions } from '../../../packages/formats/paths.js'

export interface MarksOptions {
  /** Records at the beginning of each file that are left out. */
  skip?: number
}
export type MarksJson = PathsJson | ({ path: PathsJson } & MarksOptions)

/** Files of marks: "MARK", then records of 8 bytes. */
export const marks = (path: PathsJson, options: MarksOptions = {}): SourceJson =>
  ({ marks: withOptions(path, options) }) as unknown as SourceJson

export const marksFormat: Format<MarksJson> = {
  name: 'marks',
  says: 'Files of marks: a record is a sample.',
  example: { path: 'train-*.marks', skip: 1 },
  shape: either(isObject, object({ path: paths, skip: optional(integer({ min: 0 })) }), paths),
  finds: { names: /\.marks$/i, start: start => start.toString('latin1', 0, 4) === 'MARK', many: true },
  facts: {
    python: { says: 'Files of marks. ``skip``: records that are left out.', options: { skip: 'int' } },
  },
  load: async () => (await import('./open.js')).marks,
}
