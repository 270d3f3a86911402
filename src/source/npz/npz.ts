/** .npz files, as a kind of source: a file is a sample with a column for each member, or their first axis has the samples. */
import type { ArrayFilesJson } from '../../define/types.js'
import { attachArrays } from '../arrays/attach.js'
import type { SourceKind } from '../source.js'

export const npz: SourceKind<ArrayFilesJson> = {
  open: async (json, context) => (await import('./open.js')).openNpzFiles(json, context),
  attach: attachArrays,
}
