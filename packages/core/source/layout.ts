/** How a source's data lie in their files, as `inspect` tells it. It is made when it is asked for, never while a feed runs. */

/** A column: its name and type as the format calls them. */
export interface ColumnLayout {
  name: string
  /** Such as `f32 [3, 224, 224]`, `utf8`, `list<i32>`. */
  type: string
  /** How many of its values are null; `true` where it may have nulls and their number is not known. */
  nulls?: number | boolean
}

export interface Layout {
  schema: readonly ColumnLayout[]
  /** How rows are grouped in the files, such as `12 row groups of 1,000 rows`. */
  chunks?: string
  /** How bytes are compressed and filtered: `zstd`, `shuffle`. */
  codecs?: readonly string[]
  /** One sentence: what is slow about this layout, and what to do. */
  slow?: string
}

/** The layouts of several sources as one; undefined where none has one. */
export function joinedLayouts(layouts: readonly (Layout | undefined)[]): Layout | undefined {
  const known = layouts.filter(layout => layout !== undefined)
  if (known.length === 0) return undefined
  const columns = new Map<string, ColumnLayout>()
  for (const { schema } of known) {
    for (const column of schema) {
      const before = columns.get(column.name)
      columns.set(column.name, before === undefined ? column : bothColumns(before, column))
    }
  }
  const all = (texts: readonly (string | undefined)[]): string[] =>
    [...new Set(texts)].filter(text => text !== undefined)
  const chunks = all(known.map(layout => layout.chunks))
  const codecs = all(known.flatMap(layout => layout.codecs ?? []))
  const slow = all(known.map(layout => layout.slow))
  return {
    schema: [...columns.values()],
    ...(chunks.length > 0 && { chunks: chunks.join('; ') }),
    ...(codecs.length > 0 && { codecs }),
    ...(slow.length > 0 && { slow: slow.join(' ') }),
  }
}

/** A column that two sources have. */
function bothColumns(a: ColumnLayout, b: ColumnLayout): ColumnLayout {
  const type = a.type === b.type ? a.type : `${a.type} or ${b.type}`
  const counted = typeof a.nulls === 'number' && typeof b.nulls === 'number'
  const nulls = counted ? (a.nulls as number) + (b.nulls as number) : Boolean(a.nulls) || Boolean(b.nulls)
  return { name: a.name, type, ...((a.nulls ?? b.nulls) !== undefined && { nulls }) }
}
