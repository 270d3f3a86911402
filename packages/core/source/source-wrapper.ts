/**
 * The base of a source that stands around another one and changes a part of it. It forwards every member of the
 * contract in source.ts, so that a wrapper writes only what it changes.
 *
 * A wrapper whose rows or names of columns are others than those of the source below says how to translate them: `rowBelow`,
 * `columnsBelow`. Forwarded members go through these two. Units are asked for by references to the leaf itself, which pass
 * through here untouched: a wrapper is no leaf.
 */
import type { Random } from '../basics/random.js'
import type {
  Columns,
  IndexColumn,
  Layout,
  Leaf,
  Need,
  Pieces,
  Present,
  Source,
  WholeFile,
} from './source.js'
import type { TokenRows } from './token-rows.js'

/**
 * All members of the contract. One that is optional there may be `undefined` here, but it must be written: a class that
 * implements this does not compile until it has decided about every member.
 */
export type EveryMember = { [Name in keyof Required<Source>]: Source[Name] }

export abstract class SourceWrapper implements EveryMember {
  readonly count: number
  readonly columns: readonly string[]
  readonly indexed: readonly string[] | undefined
  // What asks for these looks whether they are there, so they are there only where the source below has them.
  readonly keyHash: Source['keyHash']
  readonly leaves: readonly Leaf[] | undefined
  readonly movesWithEpoch: Source['movesWithEpoch']
  // A wrapper is no leaf.
  readonly planUnit = undefined
  readonly unitBytes = undefined
  readonly load = undefined
  readonly unitColumns = undefined

  /** A wrapper that changes no values may say what the source below says. */
  get asInUnits(): boolean | undefined {
    return undefined
  }

  /** Likewise. */
  get tokenRows(): TokenRows | undefined {
    return undefined
  }

  constructor(
    protected readonly source: Source,
    changed: Partial<Pick<Source, 'count' | 'columns' | 'indexed'>> = {},
  ) {
    this.count = changed.count ?? source.count
    this.columns = changed.columns ?? source.columns
    this.indexed = changed.indexed ?? source.indexed
    this.keyHash = source.keyHash && (row => source.keyHash!(this.rowBelow(row)))
    this.leaves = leavesOf(source)
    this.movesWithEpoch = source.movesWithEpoch
  }

  /** The row of the source below that a row here is. */
  protected rowBelow(row: number): number {
    return row
  }

  /** The names that the source below has for these columns. */
  protected columnsBelow(columns: readonly string[]): readonly string[] {
    return columns
  }

  get runs(): Float64Array {
    return this.source.runs
  }

  /** A wrapper with other rows must override this, too. */
  get unitStarts(): Float64Array | undefined {
    return this.source.unitStarts
  }

  id(row: number, epoch?: number): string {
    return this.source.id(this.rowBelow(row), epoch)
  }

  key(row: number): string {
    return this.source.key(this.rowBelow(row))
  }

  /** A wrapper with other rows must override this: the column of the source below counts its own rows. */
  index(name: string): IndexColumn | undefined {
    return this.source.index(this.columnsBelow([name])[0])
  }

  where(row: number, column?: string): { file: string; offset: number } | undefined {
    return this.source.where?.(this.rowBelow(row), column && this.columnsBelow([column])[0])
  }

  wholeFile(row: number): WholeFile | undefined {
    return this.source.wholeFile?.(this.rowBelow(row))
  }

  present(row: number): Present {
    return this.source.present?.(this.rowBelow(row)) ?? { columns: this.source.columns }
  }

  need(row: number, epoch: number, columns: readonly string[], out: Need): void {
    this.source.need(this.rowBelow(row), epoch, this.columnsBelow(columns), out)
  }

  enqueueRow(row: number, columns: readonly string[], epoch: number, random: Random): void {
    this.source.enqueueRow?.(this.rowBelow(row), this.columnsBelow(columns), epoch, random)
  }

  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns {
    return this.source.sample(this.rowBelow(row), epoch, this.columnsBelow(columns), got)
  }

  layout(): Layout | undefined {
    return this.source.layout?.()
  }
}

/** How a source moves with epochs that is made of these. */
export function movingOf(parts: readonly Source[]): Source['movesWithEpoch'] {
  return parts.some(part => part.movesWithEpoch === 'own') ? 'own' : parts.some(part => part.movesWithEpoch)
}

/** The leaves of which a source is made; undefined where there are none. */
export function leavesOf(source: Source): readonly Leaf[] | undefined {
  if (source.leaves !== undefined) return source.leaves
  return source.planUnit === undefined || source.unitStarts === undefined ? undefined : [source as Leaf]
}
