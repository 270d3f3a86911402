/** LitData's folders of chunks. */
import { either, integer, isObject, object, optional } from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { oneOrMore } from '../paths.js'
import type { LitdataJson } from './open.js'

export interface LitdataTypes {
  litdata: PathsJson | LitdataJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends LitdataTypes {}
}

/** LitData: folders with an index.json. `block`: of chunks of tokens, how many a sample has. */
export function litdata(json: LitdataJson): SourceJson
export function litdata(...paths: string[]): SourceJson
export function litdata(...given: (string | LitdataJson)[]): SourceJson {
  const [first] = given
  return { litdata: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

export const litdataFormat: Format<PathsJson | LitdataJson> = {
  name: 'litdata',
  says: 'Folders that LitData optimized, each with its index.json.',
  example: 'optimized/',
  shape: either(isObject, object({ path: paths, block: optional(integer({ min: 1 })) }), paths),
  finds: { markers: [['index.json', '"chunk_bytes"']] },
  facts: {
    python: {
      says: 'LitData: folders with an ``index.json``. ``block``: of chunks of tokens, how many a sample has.',
      options: {
        block: 'int',
      },
    },
  },
  load: async () => (await import('./open.js')).litdata,
}
