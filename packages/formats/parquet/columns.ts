/** The columns of a file, by the names that fields use. */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import type { Present } from '../../core/source/source.js'
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

/** The columns that every row has, and which others may be null: a row is not read for this. `nulls` is below 0 where unknown. */
export function presentOf(leaves: readonly ParquetLeaf[], nulls: readonly number[]): Present {
  const all = columnsOf(leaves)
  const places = new Map(leaves.map(({ name }, i) => [name, i]))
  const leafAt = (name: string): number => places.get(name) ?? (places.get(`${name}.bytes`) as number)
  const mayBeNull = (name: string): boolean => {
    const leaf = leafAt(name)
    return leaves[leaf].definition > 0 && nulls[leaf] !== 0
  }
  const others = all.filter(mayBeNull)
  if (others.length === 0) return { columns: all }
  // Of a list, the file counts empty ones as well.
  const counts = others.map(name => {
    const leaf = leafAt(name)
    return nulls[leaf] < 0 || leaves[leaf].repetition > 0 ? name : `${name} (${nulls[leaf]})`
  })
  const isMedia = others.some(name => places.has(`${name}.bytes`))
  return {
    columns: all.filter(name => !mayBeNull(name)),
    why:
      `Columns with nulls, and how many rows have them: ${counts.join(', ')}; a field's "missing" says what stands for a null` +
      `${isMedia ? '. A picture or sound without bytes is only a path: push_to_hub and save_to_disk of datasets put the bytes in' : ''}`,
  }
}

/** The error for a column that can't be read. */
export function refused(file: string, column: string, why: string): SourceError {
  return inFile(file, `: column "${column}" can't be read: ${why}`)
}
