/** Files that say of each token whether it is a target: one byte a token, 0 where it is none. */
import { SourceError } from '../../core/basics/errors.js'
import { findDataFiles } from '../../core/source/find/data-files.js'
import type { OpenContext } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import type { SideFile, TokenFile } from './formats/token-file.js'

export async function openMasks(
  path: string | string[],
  files: readonly TokenFile[],
  { root }: Pick<OpenContext, 'root'>,
): Promise<SideFile[]> {
  using stores = new Stores()
  const found = await findDataFiles(path, root, stores, { source: 'tokens', what: 'mask' })
  if (found.length !== files.length)
    throw new SourceError(
      `"mask" names ${found.length} files, and "path" ${files.length}: each file of tokens has a mask of its own`,
    )
  return found.map(({ file, bytes, version }, i) => {
    const { path: tokens, tokens: count } = files[i]
    if (bytes !== count)
      throw new SourceError(
        `${file} has ${bytes} bytes, and ${tokens} ${count} tokens: a mask has one byte a token, and stands at the place of its file`,
        { file },
      )
    return { path: file, size: bytes, version }
  })
}
