/** MDS, the format of Mosaic's streaming. */
import { either, isObject, object } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { oneOrMore } from '../paths.js'
import type { MdsJson } from './open.js'

export interface MdsTypes {
  mds: PathsJson | MdsJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends MdsTypes {}
}

/** MDS, the format of Mosaic's streaming: folders with an index.json. */
export const mds = (...paths: string[]): SourceJson => ({ mds: oneOrMore(paths) })

export const mdsFormat: Format<PathsJson | MdsJson> = {
  name: 'mds',
  says: "Folders in the format of Mosaic's streaming, each with its index.json.",
  example: 'mds/train',
  shape: either(isObject, object({ path: paths }), paths),
  finds: { markers: [['index.json', '"mds"']] },
  facts: {
    python: {
      says: "MDS, the format of Mosaic's streaming: folders with an ``index.json``.",
    },
  },
  load: async () => (await import('./open.js')).mds,
}
