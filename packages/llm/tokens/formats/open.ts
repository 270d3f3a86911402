/** Opens token files: finds them and reads their headers, nothing else. A file of a hundred gigabytes takes as long as a small one. */
import { SourceError } from '../../../core/basics/errors.js'
import { isNpy } from '../../../core/basics/npy/front.js'
import { inParallel } from '../../../core/basics/parallel.js'
import type { OpenContext } from '../../../core/source/source.js'
import { ASKED_AT_ONCE } from '../../../core/store/access.js'
import { Stores } from '../../../core/store/stores.js'
import { findTokenFiles } from './find.js'
import { FIRST_BYTES, refuseForeign } from './foreign.js'
import { type Found, type ReadFormat, readerOf, type TokenFileOptions } from './found.js'
import { isLlmc, readLlmc } from './llmc.js'
import { readMegatron } from './megatron.js'
import { readNanogpt, readNpy, readOlmo } from './plain.js'
import type { TokenFile, TokenFormat } from './token-file.js'

const FORMATS: Readonly<Record<TokenFormat, ReadFormat>> = {
  megatron: readMegatron,
  nanogpt: readNanogpt,
  llmc: readLlmc,
  npy: readNpy,
  olmo: readOlmo,
}

/** The files that paths, patterns or prefixes name, in their order; those of a pattern by name. */
export async function openTokenFiles(
  paths: string | readonly string[],
  options: TokenFileOptions,
  context: Pick<OpenContext, 'root' | 'notice'>,
): Promise<TokenFile[]> {
  const files = await tryTokenFiles(paths, options, context)
  return files.map(one => {
    if ('error' in one) throw one.error
    return one.file
  })
}

/** The same, with an error for each file that can't be opened: for tools that go on with the others. */
export async function tryTokenFiles(
  paths: string | readonly string[],
  options: TokenFileOptions,
  context: Pick<OpenContext, 'root' | 'notice'>,
): Promise<({ file: TokenFile } | { path: string; error: SourceError })[]> {
  using stores = new Stores()
  const found = await findTokenFiles(paths, context.root, stores, options)
  // Of many files without a header the first is named.
  let reported = false
  const notice = (text: string): void => {
    if (!reported) context.notice?.(text)
    reported = true
  }
  return await inParallel(found, ASKED_AT_ONCE, async one => {
    try {
      const format = await formatOf(one, options, stores)
      return { file: await FORMATS[format](one, readerOf(one, stores), options, { stores, notice }) }
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      return { path: one.file, error }
    }
  })
}

/** The format of a file, as it is said or told by its first bytes; those without a header are looked at. */
async function formatOf(found: Found, options: TokenFileOptions, stores: Stores): Promise<TokenFormat> {
  const { format } = options
  if (format !== undefined && format !== 'nanogpt' && format !== 'olmo') return format
  if (format === undefined && found.index !== undefined) return 'megatron'
  const head = await readerOf(found, stores)(0, FIRST_BYTES)
  if (format === undefined && isLlmc(head)) return 'llmc'
  if (format === undefined && isNpy(head)) return 'npy'
  refuseForeign(found, head, options)
  if (format !== undefined) return format
  return found.file.endsWith('.npy') ? 'olmo' : 'nanogpt'
}
