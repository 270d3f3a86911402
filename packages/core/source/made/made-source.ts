/**
 * The base of sources whose samples are made by code: by Millrace, by a dataset in Python, by a CUDA kernel. Nothing is
 * read, and a row is known by its number alone.
 */
import type { Columns, IndexColumn, Pieces, Source } from '../source.js'

export abstract class MadeSource implements Source {
  readonly runs = new Float64Array(1)

  constructor(
    readonly count: number,
    readonly columns: readonly string[],
  ) {}

  id(row: number): string {
    return String(row)
  }

  key(row: number): string {
    return String(row)
  }

  index(_name: string): IndexColumn | undefined {
    return undefined
  }

  need(): void {
    // Nothing is read.
  }

  abstract sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns
}
