/** The columns of a file, by the names that fields use. */
import { SourceError } from '../../basics/errors.js'
import type { ParquetLeaf } from './structure/schema.js'

/** The names of a file's columns: of its leaves, and of structs that Hugging Face writes for pictures and sounds. */
export function columnsOf(leaves: readonly ParquetLeaf[]): string[] {
  const names = leaves.map(({ name }) => name)
  const media = names.flatMap(name => {
    const [, struct] = /^(.+)\.bytes$/.exec(name) ?? []
    return struct !== undefined && names.includes(`${struct}.path`) && !names.includes(struct) ? [struct] : []
  })
  return [...media, ...names]
}

/** The leaf of a column; below 0 where the file has none. `image` is `image.bytes` of a struct with a path. */
export function leafOf(leaves: readonly ParquetLeaf[], name: string): number {
  const leaf = leaves.findIndex(one => one.name === name)
  if (leaf >= 0 || !leaves.some(one => one.name === `${name}.path`)) return leaf
  return leaves.findIndex(one => one.name === `${name}.bytes`)
}

/** The error for a column that can't be read. */
export function refused(file: string, column: string, why: string): SourceError {
  return new SourceError(`${file}: column "${column}" can't be read: ${why}`, { file })
}
