/** Joins token files of one format: what comes out is what one writer would have written of all their documents. */
import { SourceError } from '../../basics/errors.js'
import type { TokenFile } from '../../source/tokens/formats/token-file.js'
import { type Converted, type ConvertOptions, convertTokens } from './convert.js'

export async function mergeTokens(
  files: readonly TokenFile[],
  out: string,
  options: Pick<ConvertOptions, 'overwrite' | 'context'>,
): Promise<Converted> {
  const [{ format, dtype, path }] = files
  const other = files.find(file => file.format !== format || file.dtype !== dtype)
  if (other !== undefined) {
    throw new SourceError(
      `${other.path} is ${other.format} of ${other.dtype}, but ${path} is ${format} of ${dtype}: files that are joined are alike. ` +
        'millrace tokens convert makes one of them like the other, or one file of all',
      { file: other.path },
    )
  }
  if (format === 'olmo') {
    throw new SourceError(
      `${path}: OLMo's files are not written here: millrace tokens convert makes another format of them`,
      { file: path },
    )
  }
  return convertTokens(files, out, { ...options, format, dtype })
}
