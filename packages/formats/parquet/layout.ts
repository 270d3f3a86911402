/** What `inspect` tells of Parquet files. */

import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import { typeWithClasses } from '../features.js'
import { columnsOf } from './columns.js'
import { typeName } from './form.js'
import { CODECS } from './names.js'
import type { ParquetLeaf } from './structure/schema.js'

/** What is known of one file. */
export interface FileLayout {
  leaves: readonly ParquetLeaf[]
  /** Nulls of each leaf; below 0 where the file does not say. */
  nulls: readonly number[]
  rows: number
  groups: number
  /** Bytes of all row groups, decompressed. */
  raw: number
  /** Numbers of codecs. */
  codecs: ReadonlySet<number>
}

/** Row groups beyond this are slow to load, in bytes decompressed; those below are read by very many requests. */
const LARGE = 64 << 20
const SMALL = 64 << 10
const SLOW_CODECS = ['gzip', 'brotli']

export function layoutOf(
  files: readonly FileLayout[],
  classes: Readonly<Record<string, readonly string[]>>,
): Layout {
  const [rows, groups, raw] = (['rows', 'groups', 'raw'] as const).map(name =>
    files.reduce((sum, file) => sum + file[name], 0),
  )
  const codecs = [...new Set(files.flatMap(file => [...file.codecs]))].map(codec => CODECS[codec] as string)
  const each = raw / Math.max(1, groups)
  const perGroup = Math.round(rows / Math.max(1, groups))
  return {
    schema: schemaOf(files).map(column => ({
      ...column,
      type: typeWithClasses(column.type, column.name, classes),
    })),
    chunks: `${groups.toLocaleString('en')} row group${groups === 1 ? '' : 's'} of ${perGroup.toLocaleString('en')} rows, ${sized(each)} each`,
    codecs,
    slow: slowness(each, codecs),
  }
}

function slowness(each: number, codecs: readonly string[]): string | undefined {
  if (each > LARGE)
    return `A row group is loaded as a whole, and these have ${sized(each)}: write row groups of 1 to 16 MB.`
  if (each < SMALL)
    return `A row group is read by itself, and these have ${sized(each)}: write row groups of 1 to 16 MB.`
  const slow = codecs.find(codec => SLOW_CODECS.includes(codec))
  return slow && `${slow} is slow to decompress: zstd is several times as fast.`
}

function schemaOf(files: readonly FileLayout[]): ColumnLayout[] {
  const columns = new Map<string, ColumnLayout>()
  for (const { leaves, nulls } of files) {
    const names = columnsOf(leaves)
    leaves.forEach((leaf, i) => {
      const before = columns.get(leaf.name)
      // Of a list, the file counts empty ones as well.
      const known = nulls[i] >= 0 && leaf.repetition === 0 && typeof (before?.nulls ?? 0) === 'number'
      const count = known ? nulls[i] + ((before?.nulls as number) ?? 0) : leaf.definition > 0
      columns.set(leaf.name, {
        name: leaf.name,
        type: typeName(leaf),
        ...(leaf.definition > 0 && { nulls: count }),
      })
    })
    for (const name of names) if (!columns.has(name)) columns.set(name, { name, type: 'bytes' })
  }
  return [...columns.values()]
}

function sized(bytes: number): string {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`
}
