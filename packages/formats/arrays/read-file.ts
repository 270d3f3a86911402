/** Reads pieces of a file while it is opened, checked against its size. */
import { DecodeError, type MillraceError, SourceError } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { readRange } from '../../core/store/access.js'
import type { Stores } from '../../core/store/stores.js'

export type ReadPiece = (offset: number, length: number) => Promise<Buffer>

/** Reads of one file, as it was when it was found. A piece beyond its end is cut off there. */
export function piecesOf({ file, bytes, version: was }: DataFile, stores: Stores): ReadPiece {
  return async (offset, length) => {
    const size = Math.max(0, Math.min(length, bytes - offset))
    const into = Buffer.allocUnsafeSlow(size)
    if (size > 0) await readRange(stores, { file, offset, length: size, was }, into)
    return into
  }
}

/** Does work on a file; what is wrong with its bytes becomes an error that names the file, and the offset. */
export async function namingFile<T>(
  { file }: DataFile,
  work: () => Promise<T>,
  offset?: () => number,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const at = offset?.()
    const where = at === undefined ? '' : ` at byte ${at}`
    throw new SourceError(`${file}${where}: ${(error as MillraceError).message}`, {
      file,
      offset: at,
      cause: error,
    })
  }
}
