/** Tar shards of the WebDataset kind. */

import { either, isObject, object, optional, text } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { oneOrMore } from '../paths.js'
import type { TarJson } from './paths.js'

export interface TarTypes {
  tar: TarJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends TarTypes {}
}

/**
 * Shards of the WebDataset kind: paths or patterns such as `train-{0000..0015}.tar`; or `{ path: 'shards.json', root: '/data' }`, where a
 * shard list names shards that lie elsewhere.
 */
export function tar(json: Exclude<TarJson, PathsJson>): SourceJson
export function tar(...paths: string[]): SourceJson
export function tar(...given: (string | Exclude<TarJson, PathsJson>)[]): SourceJson {
  const [first] = given
  return { tar: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

export const tarFormat: Format<TarJson> = {
  name: 'tar',
  says: 'Tar shards of the WebDataset kind: files with a common stem are a sample.',
  example: 'shards/train-{0000..0015}.tar',
  shape: either(isObject, object({ path: paths, root: optional(text) }), paths),
  finds: {
    names: /\.(tar|tgz|tar\.gz)$/i,
    start: start => start.toString('latin1', 257, 262) === 'ustar',
    many: true,
    list: 'wids-shard-index',
  },
  facts: {
    namedByFiles: true,
    selectsByIndex: true,
    python: {
      says: 'Shards of the WebDataset kind: paths or patterns such as ``train-{0000..0015}.tar``. ``root``: where the shards that a shard list names may lie, besides the folder of the list.',
      options: {
        root: 'Path',
      },
    },
  },
  load: async () => (await import('./open.js')).tar,
}
