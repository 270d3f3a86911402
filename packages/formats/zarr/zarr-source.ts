/** Zarr arrays while a feed runs: the columns of a row, each with chunks of its own, and its name. */
import { lastAtMost } from '../../core/basics/search.js'
import { withBoundaries } from '../../core/source/combine/unit-boundaries.js'
import type { Layout } from '../../core/source/layout.js'
import type {
  Columns,
  IndexColumn,
  Leaf,
  Manifest,
  Need,
  Pieces,
  Present,
  Source,
} from '../../core/source/source.js'
import { ColumnLeaf } from './column-leaf.js'
import type { ColumnManifest } from './column-tables.js'
import { type ArrayKind, chunkBytes } from './meta/array-meta.js'

export interface ZarrManifest extends Manifest {
  kind: 'zarr'
  columns: ColumnManifest[]
  /** The first row of each part, and the count at the end. */
  rowStarts: Float64Array
  /** Each part: its store and what wildcards match in it, for ids; without the store's extension, for keys. */
  names: string[]
  stems: string[]
  /** Whether a part is a row. */
  groups: boolean
}

export class ZarrSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed = ['key']
  readonly unitStarts?: Float64Array
  readonly leaves?: readonly Leaf[]
  private readonly byName: Map<string, ColumnLeaf>
  private readonly starts: Float64Array
  private part = 0

  constructor(private readonly manifest: ZarrManifest) {
    const { rowStarts } = manifest
    this.starts = rowStarts
    this.count = rowStarts[rowStarts.length - 1]
    this.columns = manifest.columns.map(({ name }) => name)
    this.runs = manifest.groups
      ? Float64Array.of(0)
      : rowStarts.filter((row, i) => row < (rowStarts[i + 1] ?? 0))
    const id = (row: number): string => this.id(row)
    const leaves = manifest.columns.map(column => new ColumnLeaf(column, rowStarts, id))
    this.byName = new Map(leaves.map(leaf => [leaf.manifest.name, leaf]))
    const loaded = leaves.filter(leaf => !leaf.plain)
    if (loaded.length > 0) {
      this.leaves = loaded
      this.unitStarts = withBoundaries(largestUnits(loaded), this.runs)
    }
  }

  id(row: number): string {
    return this.nameOf(this.manifest.names, row)
  }

  key(row: number): string {
    return this.nameOf(this.manifest.stems, row)
  }

  index(name: string): IndexColumn | undefined {
    return name === 'key' ? { type: 'string', at: row => this.key(row) } : undefined
  }

  where(row: number): { file: string; offset: number } | undefined {
    this.locate(row)
    for (const leaf of this.byName.values()) {
      const place = leaf.has(this.part) ? leaf.place(this.part, row - this.starts[this.part]) : undefined
      if (place !== undefined) return place
    }
    return undefined
  }

  present(row: number): Present {
    this.locate(row)
    const { part } = this
    return { columns: this.columns.filter(name => this.byName.get(name)!.has(part)), possible: this.columns }
  }

  layout(): Layout {
    return layoutOf(this.manifest.columns, this.manifest.groups)
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    this.locate(row)
    const { part } = this
    for (const name of columns) {
      const leaf = this.byName.get(name)
      if (leaf?.has(part)) leaf.needPart(part, row - this.starts[part], out)
    }
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges, units }: Pieces): Columns {
    this.locate(row)
    const { part } = this
    const out: Columns = {}
    let [range, unit] = [0, 0]
    const nextRange = (): Uint8Array => ranges[range++]
    const nextUnit = (): Uint8Array => units[unit++][0]
    for (const name of columns) {
      const leaf = this.byName.get(name)
      if (leaf?.has(part))
        out[name] = leaf.valueOf(part, row - this.starts[part], leaf.plain ? nextRange : nextUnit)
    }
    return out
  }

  private nameOf(names: readonly string[], row: number): string {
    this.locate(row)
    return this.manifest.groups ? names[this.part] : `${names[this.part]}:${row - this.starts[this.part]}`
  }

  /** Sets `part` to the part that holds a row. */
  private locate(row: number): void {
    const { starts } = this
    if (row >= starts[this.part] && row < starts[this.part + 1]) return
    this.part = lastAtMost(starts, row, 0, starts.length - 2)
  }
}

/** Borders of the column with the largest chunks, since these cost most to load twice. Chunks across a row have equal ones. */
function largestUnits(leaves: readonly ColumnLeaf[]): Float64Array {
  const distinct = leaves.map(({ unitStarts }) =>
    unitStarts.filter((row, i) => i === 0 || row !== unitStarts[i - 1]),
  )
  return distinct.reduce((a, b) => (b.length < a.length ? b : a))
}

/** Chunks beyond this take most of a cache, and read much for a row. */
const LARGE_CHUNK = 64 << 20
/** Objects below this cost more to open than to read. */
const SMALL_CHUNK = 16 << 10
/** Fewer of them don't matter. */
const MANY = 10_000

function layoutOf(columns: readonly ColumnManifest[], groups: boolean): Layout {
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
