/**
 * An entry of a blend: a source with a name, which becomes its column `source` and stands before its ids, and with
 * new names for some of its columns. A blend itself is no source: which of its entries a position draws from is
 * the order's business.
 */
import type { Random } from '../define/random.js'
import type { BlendJson } from '../define/types.js'
import { nearest, SourceError } from '../errors.js'
import { combinedFingerprint } from './combined.js'
import type { OpenedSources } from './registry.js'
import type {
  ByteRange,
  Column,
  IndexColumn,
  Manifest,
  Nesting,
  OpenContext,
  Present,
  Source,
  SourceKind,
} from './source.js'

interface NamedManifest extends Manifest {
  kind: 'named'
  name: string
  /** New names by old ones. */
  rename: Record<string, string>
  child: Manifest
}

/** Not to be written in a definition: made by a blend. */
export const named: SourceKind<never> = {
  open() {
    throw new SourceError('"named" is no source of its own: use "blend"')
  },

  attach(manifest, nesting) {
    const { child, name, rename } = manifest as NamedManifest
    return new NamedSource(nesting.attach(child), name, rename)
  },
}

/** Opens all entries of a blend. */
export async function openBlend(
  json: BlendJson,
  context: OpenContext,
  nesting: Nesting,
): Promise<OpenedSources> {
  const entries = json.entries.map(({ name, weight }, i) => ({ name: name ?? String(i), weight }))
  const sources: OpenedSources['sources'] = []
  for (const [i, { source, rename = {} }] of json.entries.entries()) {
    const back = new Map(Object.entries(rename).map(([from, to]) => [to, from]))
    const wanted = context.wanted.map(column => back.get(column) ?? column)
    const most = Object.fromEntries(
      Object.entries(context.most ?? {}).map(([column, bytes]) => [back.get(column) ?? column, bytes]),
    )
    const child = await nesting.open(source, { ...context, wanted, most })
    checkNames(entries[i].name, rename, nesting.attach(child).columns)
    const { fingerprint, indexBytes } = child
    const manifest: NamedManifest = {
      kind: 'named',
      fingerprint,
      indexBytes,
      name: entries[i].name,
      rename,
      child,
    }
    sources.push({ manifest, name: entries[i].name })
  }
  const prints = sources.map(({ manifest }) => manifest.fingerprint)
  const count = prints.reduce((sum, print) => sum + print.count, 0)
  const per = json.per ?? 'sample'
  const fingerprint = combinedFingerprint(
    'blend',
    count,
    entries.map(entry => entry.name),
    prints,
  )
  return { sources, fingerprint, blend: { entries, per, ...(json.epoch && { epoch: json.epoch }) } }
}

function checkNames(
  name: string,
  rename: Readonly<Record<string, string>>,
  columns: readonly string[],
): void {
  for (const from of Object.keys(rename)) {
    if (columns.includes(from)) continue
    const near = nearest(from, columns)
    const hint = near ? `did you mean "${near}"?` : `it has ${columns.join(', ')}`
    throw new SourceError(`blend: source "${name}" has no column "${from}" to rename; ${hint}`)
  }
}

class NamedSource implements Source {
  readonly count: number
  readonly units: number
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  readonly runs: Float64Array
  readonly keyHash: ((row: number) => number) | undefined
  readonly load: ((unit: number, pieces: Uint8Array[]) => Uint8Array[]) | undefined
  private readonly oldNames: Map<string, string>
  /** The columns as the source knows them, by the very array that was asked with. */
  private readonly translated = new WeakMap<readonly string[], readonly string[]>()

  constructor(
    private readonly source: Source,
    private readonly name: string,
    private readonly rename: Readonly<Record<string, string>>,
  ) {
    this.count = source.count
    this.units = source.units
    this.runs = source.runs
    this.keyHash = source.keyHash?.bind(source)
    this.load = source.load?.bind(source)
    const newName = (column: string): string => rename[column] ?? column
    this.columns = [...source.columns.map(newName), 'source']
    this.indexed = [...(source.indexed ?? []).map(newName), 'source']
    this.oldNames = new Map(Object.entries(rename).map(([from, to]) => [to, from]))
  }

  id(row: number): string {
    return `${this.name}/${this.source.id(row)}`
  }

  key(row: number): string {
    return this.source.key(row)
  }

  where(row: number): { file: string; offset: number } | undefined {
    return this.source.where?.(row)
  }

  present(row: number): Present {
    const renamed = (names: readonly string[]) => [...names.map(name => this.rename[name] ?? name), 'source']
    const { columns, possible, ...why } = this.source.present?.(row) ?? { columns: this.source.columns }
    return { columns: renamed(columns), ...(possible && { possible: renamed(possible) }), ...why }
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'source') return { type: 'string', at: () => this.name }
    return this.source.index(this.translate([name])[0])
  }

  unitOf(row: number): number {
    return this.source.unitOf(row)
  }

  plan(unit: number, columns: readonly string[]): ByteRange[] {
    return this.source.plan(unit, this.translate(columns))
  }

  foresee(row: number, columns: readonly string[], epoch: number, random: Random): void {
    this.source.foresee?.(row, this.translate(columns), epoch, random)
  }

  sample(row: number, pieces: readonly Uint8Array[], columns: readonly string[]): Record<string, Column> {
    const below = this.translate(columns)
    const values = this.source.sample(row, pieces, below)
    const out: Record<string, Column> = {}
    columns.forEach((column, i) => {
      if (column === 'source') out.source = this.name
      else if (values[below[i]] !== undefined) out[column] = values[below[i]]
    })
    return out
  }

  private translate(columns: readonly string[]): readonly string[] {
    let below = this.translated.get(columns)
    if (below === undefined) {
      // A column that has a new name is no longer there under its old one.
      below = columns.map(column => this.oldNames.get(column) ?? (column in this.rename ? '' : column))
      this.translated.set(columns, below)
    }
    return below
  }
}
