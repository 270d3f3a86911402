/**
 * A source with new names for some of its columns. As an entry of a blend it has a name, too: its samples get a column
 * `source` that holds the name, and the name stands before their ids. `blend.ts` and `zip.ts` make them.
 */
import { nearest, SourceError } from '../../basics/errors.js'
import type {
  Columns,
  IndexColumn,
  Layout,
  Manifest,
  OpenContext,
  Pieces,
  Present,
  Source,
  SourceKind,
  WholeFile,
} from '../source.js'
import { SourceWrapper } from '../source-wrapper.js'
import type { TokenRows } from '../token-rows.js'

export interface NamedManifest extends Manifest {
  kind: 'named'
  /** Stands before ids; and in the column `source`, unless it belongs to a corpus. Absent in a zip. */
  name?: string
  corpus?: string
  /** New names by old ones. */
  rename: Record<string, string>
  child: Manifest
}

/** Not to be written in a definition: made by a blend. */
export const named: SourceKind<never> = {
  open() {
    throw new SourceError('"named" is no source of its own: use "blend" or "zip"')
  },

  attach(manifest, nesting) {
    const { child, name, rename, corpus = name } = manifest as NamedManifest
    const source = nesting.attach(child)
    return name === undefined
      ? new RenamedSource(source, rename)
      : new NamedSource(source, rename, name, corpus as string)
  },
}

/** What a source is opened with whose columns get new names: the columns by their old ones. */
export function contextBelow(context: OpenContext, rename: Readonly<Record<string, string>>): OpenContext {
  const back = new Map(Object.entries(rename).map(([from, to]) => [to, from]))
  const below = (column: string): string => back.get(column) ?? column
  const most = Object.entries(context.most ?? {}).map(([column, bytes]) => [below(column), bytes])
  return {
    ...context,
    wanted: context.wanted.map(below),
    indexed: context.indexed?.map(below),
    most: Object.fromEntries(most),
  }
}

/** Refuses new names for columns that the source, as messages call it, does not have. */
export function checkNames(
  what: string,
  rename: Readonly<Record<string, string>>,
  { columns }: Source,
): void {
  for (const from of Object.keys(rename)) {
    if (columns.includes(from)) continue
    const near = nearest(from, columns)
    const hint = near ? `did you mean "${near}"?` : `it has ${columns.join(', ')}`
    throw new SourceError(`${what} has no column "${from}" to rename; ${hint}`)
  }
}

class RenamedSource extends SourceWrapper {
  private readonly oldNames: Map<string, string>
  /** The columns as the source below knows them, by the very array that was asked with. */
  private readonly translated = new WeakMap<readonly string[], readonly string[]>()

  constructor(
    source: Source,
    protected readonly rename: Readonly<Record<string, string>>,
    more: readonly string[] = [],
  ) {
    super(source, {
      columns: [...renamed(source.columns, rename), ...more],
      indexed: [...renamed(source.indexed ?? [], rename), ...more],
    })
    this.oldNames = new Map(Object.entries(rename).map(([from, to]) => [to, from]))
  }

  override wholeFile(row: number): WholeFile | undefined {
    const file = this.source.wholeFile?.(row)
    if (file === undefined) return undefined
    const { column, extension, byExtension, reported } = file
    return {
      column: this.rename[column] ?? column,
      extension,
      byExtension: byExtension && !(extension in this.rename),
      reported: reported.map(name => this.rename[name] ?? name),
    }
  }

  override present(row: number): Present {
    const { rename } = this
    const { columns, possible, ...why } = super.present(row)
    return {
      columns: renamed(columns, rename),
      ...(possible && { possible: renamed(possible, rename) }),
      ...why,
    }
  }

  override sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns {
    const below = this.columnsBelow(columns)
    const values = this.source.sample(row, epoch, below, got)
    const out: Columns = {}
    columns.forEach((column, i) => {
      if (values[below[i]] !== undefined) out[column] = values[below[i]]
    })
    return out
  }

  override layout(): Layout | undefined {
    const layout = super.layout()
    const schema = layout?.schema.map(column => ({
      ...column,
      name: this.rename[column.name] ?? column.name,
    }))
    return layout && { ...layout, schema: schema! }
  }

  /** Under their new names. A field of `source`, which files don't hold, has no place there. */
  override get tokenRows(): TokenRows | undefined {
    const { tokenRows: rows } = this.source
    if (rows === undefined) return undefined
    const columns = Object.entries(rows.columns).map(([name, column]) => [this.rename[name] ?? name, column])
    return Object.create(rows, { columns: { value: Object.fromEntries(columns) } })
  }

  protected override columnsBelow(columns: readonly string[]): readonly string[] {
    let below = this.translated.get(columns)
    if (below === undefined) {
      // A column that has a new name is no longer there under its old one.
      below = columns.map(column => this.oldNames.get(column) ?? (column in this.rename ? '' : column))
      this.translated.set(columns, below)
    }
    return below
  }
}

class NamedSource extends RenamedSource {
  constructor(
    source: Source,
    rename: Readonly<Record<string, string>>,
    private readonly name: string,
    private readonly corpus: string,
  ) {
    super(source, rename, ['source'])
  }

  override id(row: number, epoch?: number): string {
    return `${this.name}/${super.id(row, epoch)}`
  }

  override present(row: number): Present {
    const { columns, possible, ...why } = super.present(row)
    return {
      columns: [...columns, 'source'],
      ...(possible && { possible: [...possible, 'source'] }),
      ...why,
    }
  }

  override index(name: string): IndexColumn | undefined {
    return name === 'source' ? { type: 'string', at: () => this.corpus } : super.index(name)
  }

  override sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns {
    const out = super.sample(row, epoch, columns, got)
    if (columns.includes('source')) out.source = this.corpus
    return out
  }
}

/** The names of columns here, by those that they have below. */
function renamed(names: readonly string[], rename: Readonly<Record<string, string>>): string[] {
  return names.map(name => rename[name] ?? name)
}
