/** Reads of a file while its structure is read. */
import type { ReadAt } from '../../../core/source/index/read-at.js'

export type { ReadAt }

/** So many bytes: the caller knows that the file has them. */
export async function readExactly(read: ReadAt, offset: number, length: number): Promise<Buffer> {
  const into = Buffer.allocUnsafeSlow(length)
  const got = await read(into, offset)
  return got === length ? into : into.fill(0, got)
}
