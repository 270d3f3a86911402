/** Rows that are known by their numbers alone, and of which nothing is read: somebody makes them. */
import type { ByteRange, Column, IndexColumn, Source } from '../source.js'

export abstract class NumberedRows implements Source {
  readonly units: number
  readonly runs = new Float64Array(1)

  constructor(
    readonly count: number,
    readonly columns: readonly string[],
  ) {
    this.units = count
  }

  id(row: number): string {
    return String(row)
  }

  key(row: number): string {
    return String(row)
  }

  index(_name: string): IndexColumn | undefined {
    return undefined
  }

  unitOf(row: number): number {
    return row
  }

  plan(): ByteRange[] {
    return []
  }

  abstract sample(
    row: number,
    pieces: readonly Uint8Array[],
    columns: readonly string[],
  ): Record<string, Column>
}
