/** Compares the hashes that index.json may have of each shard: for `verify`, which reads everything. */
import { createHash, getHashes } from 'node:crypto'
import { SourceError } from '../../core/basics/errors.js'
import type { OpenContext } from '../../core/source/source.js'
import { readRange } from '../../core/store/access.js'
import type { Stores } from '../../core/store/stores.js'

/** A file as index.json has it. */
export interface ListedFile {
  file: string
  name: string
  bytes: number
  hashes: Record<string, string>
}

/** Bytes that are read at a time. */
const PIECE = 4 << 20

export async function checkHashes(
  files: readonly ListedFile[],
  stores: Stores,
  { progress, notice }: OpenContext,
): Promise<void> {
  const known = new Set(getHashes().map(name => name.toLowerCase()))
  const unknown = new Set<string>()
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const buffer = Buffer.allocUnsafeSlow(PIECE)
  let done = 0
  for (const { file, bytes, hashes } of files) {
    const names = Object.keys(hashes)
    for (const name of names) if (!known.has(name)) unknown.add(name)
    const sums = names.filter(name => known.has(name)).map(name => ({ name, sum: createHash(name) }))
    for (let offset = 0; offset < bytes && sums.length > 0; offset += PIECE) {
      const length = Math.min(PIECE, bytes - offset)
      await readRange(stores, { file, offset, length }, buffer.subarray(0, length))
      for (const { sum } of sums) sum.update(buffer.subarray(0, length))
      progress?.(done + offset + length, total, 'comparing hashes', 'bytes')
    }
    done += bytes
    for (const { name, sum } of sums) {
      const found = sum.digest('hex')
      if (found === hashes[name]) continue
      throw new SourceError(
        `${file}: its ${name} is ${found}, index.json says ${hashes[name]}: the shard is damaged; copy or write it again`,
        { file },
      )
    }
  }
  if (unknown.size > 0)
    notice?.(`hashes of the kind ${[...unknown].join(', ')} are not compared: they are not known here`)
}
