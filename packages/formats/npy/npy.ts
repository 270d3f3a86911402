/** .npy files, as a kind of source: a file is a sample with the column `data`, or its first axis has the samples. */
import type { NpyFilesJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { attachArrays } from '../arrays/attach.js'

export const npy: SourceKind<NpyFilesJson> = {
  open: async (json, context) => (await import('./open.js')).openNpyFiles(json, context),
  attach: attachArrays,
}
