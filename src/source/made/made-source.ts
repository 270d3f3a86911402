/**
 * The base of sources whose samples are made by code: by Millrace, by a dataset in Python, by a CUDA kernel. Nothing is
 * read, and a row is known by its number alone.
 */
import type { ByteRange, Column, IndexColumn, Source } from '../source.js'

export abstract class MadeSource implements Source {
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
