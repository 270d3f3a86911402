/**
 * The base of a source that stands around another one and changes a part of it. It forwards every member of the
 * contract in source.ts, so that a wrapper writes only what it changes.
 *
 * A wrapper whose rows, units or names of columns are others than those of the source below says how to translate them:
 * `rowBelow`, `unitBelow`, `columnsBelow`. Forwarded members go through these three.
 */
import type { Random } from '../basics/random.js'
import type { ByteRange, Column, IndexColumn, Present, Source, WholeFile } from './source.js'

/**
 * All members of the contract. One that is optional there may be `undefined` here, but it must be written: a class that
 * implements this does not compile until it has decided about every member.
 */
export type EveryMember = { [Name in keyof Required<Source>]: Source[Name] }

export abstract class Around implements EveryMember {
  readonly count: number
  readonly units: number
  readonly columns: readonly string[]
  readonly indexed: readonly string[] | undefined
  // What asks for these looks whether they are there, so they are there only where the source below has them.
  readonly keyHash: Source['keyHash']
  readonly load: Source['load']
  readonly loadedBytes: Source['loadedBytes']

  constructor(
    protected readonly source: Source,
    changed: Partial<Pick<Source, 'count' | 'units' | 'columns' | 'indexed'>> = {},
  ) {
    this.count = changed.count ?? source.count
    this.units = changed.units ?? source.units
    this.columns = changed.columns ?? source.columns
    this.indexed = changed.indexed ?? source.indexed
    this.keyHash = source.keyHash && (row => source.keyHash!(this.rowBelow(row)))
    this.load = source.load && ((unit, pieces) => source.load!(this.unitBelow(unit), pieces))
    this.loadedBytes = source.loadedBytes && (unit => source.loadedBytes!(this.unitBelow(unit)))
  }

  /** The row of the source below that a row here is. */
  protected rowBelow(row: number): number {
    return row
  }

  /** The unit of the source below that a unit here is. */
  protected unitBelow(unit: number): number {
    return unit
  }

  /** The names that the source below has for these columns. */
  protected columnsBelow(columns: readonly string[]): readonly string[] {
    return columns
  }

  get runs(): Float64Array {
    return this.source.runs
  }

  id(row: number): string {
    return this.source.id(this.rowBelow(row))
  }

  key(row: number): string {
    return this.source.key(this.rowBelow(row))
  }

  /** A wrapper with other rows must override this: the column of the source below counts its own rows. */
  index(name: string): IndexColumn | undefined {
    return this.source.index(this.columnsBelow([name])[0])
  }

  where(row: number): { file: string; offset: number } | undefined {
    return this.source.where?.(this.rowBelow(row))
  }

  wholeFile(row: number): WholeFile | undefined {
    return this.source.wholeFile?.(this.rowBelow(row))
  }

  present(row: number): Present {
    return this.source.present?.(this.rowBelow(row)) ?? { columns: this.source.columns }
  }

  unitOf(row: number): number {
    return this.source.unitOf(this.rowBelow(row))
  }

  plan(unit: number, columns: readonly string[]): ByteRange[] {
    return this.source.plan(this.unitBelow(unit), this.columnsBelow(columns))
  }

  foresee(row: number, columns: readonly string[], epoch: number, random: Random): void {
    this.source.foresee?.(this.rowBelow(row), this.columnsBelow(columns), epoch, random)
  }

  sample(row: number, pieces: readonly Uint8Array[], columns: readonly string[]): Record<string, Column> {
    return this.source.sample(this.rowBelow(row), pieces, this.columnsBelow(columns))
  }
}
