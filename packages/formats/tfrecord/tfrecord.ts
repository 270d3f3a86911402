/** TFRecord files, as a kind of source. What finds and indexes them (tfrecord/open.ts) is loaded when a feed is opened. */
import type { TfrecordJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { PackedTfrecord } from './packed-tfrecord.js'
import { type TfrecordManifest, TfrecordSource } from './tfrecord-source.js'

export const tfrecord: SourceKind<string | string[] | TfrecordJson> = {
  open: async (json, context) => (await import('./open.js')).openTfrecord(json, context),
  attach: manifest => {
    const { unitStarts } = manifest as TfrecordManifest
    if (unitStarts === undefined) return new TfrecordSource(manifest as TfrecordManifest)
    return new PackedTfrecord(manifest as TfrecordManifest, unitStarts)
  },
}
