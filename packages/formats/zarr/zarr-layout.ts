/** How the arrays lie, for `inspect`. */
import type { Layout } from '../../core/source/layout.js'
import type { ColumnManifest } from './column-tables.js'
import { type ArrayKind, chunkBytes } from './meta/array-meta.js'

/** Chunks beyond this take most of a cache, and read much for a row. */
const LARGE_CHUNK = 64 << 20
/** Objects below this cost more to open than to read. */
const SMALL_CHUNK = 16 << 10
/** Fewer of them don't matter. */
const MANY = 10_000

export function layoutOf(columns: readonly ColumnManifest[], groups: boolean): Layout {
  const slow = columns.map(slowness).find(sentence => sentence !== undefined)
  return {
    schema: columns.map(column => ({ name: column.name, type: typeOf(column) })),
    chunks: columns.map(column => `${column.name}: ${chunksOf(column, groups)}`).join('; '),
    codecs: [...new Set(columns.flatMap(({ kinds }) => kinds.flatMap(({ codecs }) => codecs)))],
    ...(slow !== undefined && { slow }),
  }
}

function typeOf({ kinds, shapes, rank, kindOf }: ColumnManifest): string {
  const part = kindOf.findIndex(kind => kind >= 0)
  const { form, dtype, bytes } = kinds[0].element
  const own = Array.from(shapes.subarray(part * rank + 1, (part + 1) * rank))
  const name = {
    number: dtype,
    complex: `complex ${dtype}`,
    ascii: `text of ${bytes} bytes`,
    utf32: `text of ${bytes / 4} characters`,
  }
  const type = form === 'vlen-text' ? 'text' : form === 'vlen-bytes' ? 'bytes' : name[form]
  return own.length === 0 ? type : `${type} [${own.join(', ')}]`
}

function chunksOf({ kinds, lengths }: ColumnManifest, groups: boolean): string {
  const shape = ({ chunk }: ArrayKind): string => `[${chunk.slice(groups ? 1 : 0).join(', ')}]`
  const sharded = kinds.some(({ shards }) => shards.length > 0) ? ' in shards' : ''
  return `${lengths.length} chunks of ${[...new Set(kinds.map(shape))].join(' and ')}${sharded}`
}

function slowness({ name, kinds, lengths }: ColumnManifest): string | undefined {
  const [kind] = kinds
  const bytes = chunkBytes(kind)
  if (bytes > LARGE_CHUNK && (kind.steps.length > 0 || kind.order[0] !== 0))
    return `A chunk of "${name}" has ${bytes} bytes, which are read and decompressed for a single row: write smaller chunks along the first axis.`
  if (kind.shards.length === 0 && bytes < SMALL_CHUNK && lengths.length > MANY)
    return `"${name}" has ${lengths.length} objects of ${bytes} bytes: write larger chunks, or shards.`
  return undefined
}
