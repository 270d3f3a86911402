/** A file of tokens that was found, before its header was read, and the words for what is wrong with one. */
import { SourceError } from '../../../core/basics/errors.js'
import type { DataFile } from '../../../core/source/find/data-files.js'
import type { Stores } from '../../../core/store/stores.js'
import { piecesOf, type ReadPiece } from '../../../formats/arrays/read-file.js'
import { TOKEN_BYTES, type TokenDtype, type TokenFile, type TokenFormat } from './token-file.js'

export interface TokenFileOptions {
  /** Unsaid: an .idx beside it tells, or the file's first bytes and its name. */
  format?: TokenFormat
  /** For files without a header; where there is one, it must be the same. */
  dtype?: TokenDtype
  /** Ids below this; files whose first tokens are mostly beyond it are refused. */
  vocabulary?: number
  /** Takes an .idx that disagrees with the size of its .bin: for tools that say themselves what is wrong. */
  unchecked?: boolean
}

/** A file with tokens, and the files beside it that tell of it. */
export interface Found extends DataFile {
  index?: DataFile
  borders?: DataFile
}

/** Reads the header of a file of one format. */
export type ReadFormat = (
  found: Found,
  read: ReadPiece,
  options: TokenFileOptions,
  context: { stores: Stores; notice?: (text: string) => void },
) => Promise<TokenFile>

export function readerOf(file: DataFile, stores: Stores): ReadPiece {
  return piecesOf(file, stores)
}

/** A file whose tokens fill it from `begin` to its end. */
export function filled(found: Found, format: TokenFormat, begin: number, dtype: TokenDtype): TokenFile {
  const { file, name, bytes, version } = found
  const item = TOKEN_BYTES[dtype]
  if ((bytes - begin) % item !== 0) {
    throw new SourceError(
      `${file} has ${bytes - begin} bytes of tokens, which is no multiple of ${item}, the bytes of a token of type ${dtype}: ` +
        'it is cut off, or its tokens have another type',
      { file },
    )
  }
  return { format, name, path: file, size: bytes, version, begin, dtype, tokens: (bytes - begin) / item }
}

/** Throws where a definition says another type than the file does. */
export function checkDtype(file: string, dtype: TokenDtype, wanted: TokenDtype | undefined): void {
  if (wanted === undefined || wanted === dtype) return
  throw new SourceError(
    `${file} says that its tokens have type ${dtype}, but "dtype" is ${wanted}: leave "dtype" out`,
    { file },
  )
}
