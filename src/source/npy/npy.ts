/** .npy files, as a kind of source: a file is a sample with the column `data`, or its first axis has the samples. */
import type { NpyFilesJson } from '../../define/types.js'
import { attachArrays } from '../arrays/attach.js'
import type { SourceKind } from '../source.js'

export const npy: SourceKind<NpyFilesJson> = {
  open: async (json, context) => (await import('./open.js')).openNpyFiles(json, context),
  attach: attachArrays,
}
