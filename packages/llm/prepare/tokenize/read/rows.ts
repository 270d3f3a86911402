/** The texts of rows of a source with columns: Parquet, Arrow, CSV. */
import { DecodeError, nearest, SourceError } from '../../../../core/basics/errors.js'
import type { Maybe } from '../../../../core/basics/maybe.js'
import { attachSource } from '../../../../core/source/registry.js'
import { RowReader } from '../../../../core/source/row-reader.js'
import type { Column, Manifest, Source } from '../../../../core/source/source.js'
import { Reader } from '../../../../core/store/reader.js'
import { Stores } from '../../../../core/store/stores.js'
import { Fault } from '../json/line-memory.js'

export class RowTexts {
  readonly source: Source
  private readonly rows: RowReader
  private readonly columns: readonly string[]

  constructor(
    manifest: Manifest,
    private readonly key: string,
  ) {
    this.source = attachSource(manifest)
    this.columns = [key]
    this.rows = new RowReader(this.source, new Reader(new Stores({ access: 'sequential' })))
    if (!this.source.columns.includes(key)) throw noColumn(this.source, key)
  }

  /** The text of a row; valid until the next call. */
  text(row: number): Maybe<Uint8Array | Fault> {
    const wrong = (error: unknown): Fault => {
      if (error instanceof DecodeError) return new Fault(error.message)
      throw error
    }
    try {
      const read = this.rows.read(row, this.columns)
      return read instanceof Promise
        ? read.then(({ sample }) => this.textIn(sample), wrong)
        : this.textIn(read.sample)
    } catch (error) {
      return wrong(error)
    }
  }

  private textIn({ [this.key]: value }: Readonly<Record<string, Column>>): Uint8Array | Fault {
    if (value instanceof Uint8Array) return value
    if (typeof value === 'string') return Buffer.from(value)
    return new Fault(
      value === undefined
        ? `has nothing in its column "${this.key}"`
        : `has no text in its column "${this.key}": ${typeof value === 'object' ? 'it is an array' : `it is ${value}`}`,
    )
  }

  /** A file and a place in it, for messages. */
  place(row: number): string {
    return this.source.id(row)
  }
}

function noColumn(source: Source, key: string): SourceError {
  const near = nearest(key, source.columns)
  return new SourceError(
    `${source.where?.(0)?.file ?? source.id(0)} has no column "${key}"${near ? `, did you mean "${near}"?` : ''}: it has ` +
      `${source.columns.join(', ')}; --key names the one with the text`,
  )
}
