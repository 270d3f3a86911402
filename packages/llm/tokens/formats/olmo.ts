/**
 * OLMo's files: named .npy, but raw tokens without a header. A .csv.gz of the same name may tell where documents lie, a line
 * for each: `start,end,…`, in tokens.
 */
import { SourceError } from '../../../core/basics/errors.js'
import { filled, type ReadFormat } from './found.js'

export const readOlmo: ReadFormat = async (found, _, { dtype }) => {
  const { file, borders } = found
  if (dtype === undefined) {
    throw new SourceError(
      `${file} has no header (OLMo's files are .npy by name only), so the type of its tokens must be told: "dtype": "u32", or ` +
        '"u16" where the vocabulary has less than 65,536 tokens',
      { file },
    )
  }
  return {
    ...filled(found, 'olmo', 0, dtype),
    ...(borders && { borders: { path: borders.file, size: borders.bytes, version: borders.version } }),
  }
}
