/** .npz files, as a kind of source: a file is a sample with a column for each member, or their first axis has the samples. */
import type { ArrayFilesJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { attachArrays } from '../arrays/attach.js'

export const npz: SourceKind<ArrayFilesJson> = {
  open: async (json, context) => (await import('./open.js')).openNpzFiles(json, context),
  attach: attachArrays,
}
