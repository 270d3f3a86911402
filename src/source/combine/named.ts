/**
 * An entry of a blend: a source with a name and with new names for some of its columns. Its samples get a column
 * `source` that holds the name, and the name stands before their ids. `blend.ts` makes them.
 */

import { SourceError } from '../../basics/errors.js'
import type { Random } from '../../basics/random.js'
import type { ByteRange, Column, IndexColumn, Manifest, Present, Source, SourceKind } from '../source.js'

export interface NamedManifest extends Manifest {
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
