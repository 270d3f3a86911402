/** The wanted columns of a CSV record, as values of their types. */
import { DecodeError } from '../../../core/basics/errors.js'
import type { Column } from '../../../core/source/source.js'
import type { TextFileManifest } from '../text-file.js'
import { type OnCell, readCells } from './cells.js'
import type { CsvType } from './types.js'
import { cellValue } from './types.js'

type Types = Readonly<Record<string, { type: CsvType; declared: boolean }>>

export class CsvRow {
  /** By file: which cell is which wanted column. */
  private readonly wants = new WeakMap<TextFileManifest, Int32Array>()
  private out: Record<string, Column> = {}

  constructor(
    private readonly columns: readonly string[],
    private readonly types: Types,
  ) {}

  read(record: Uint8Array, file: TextFileManifest): Record<string, Column> {
    const out: Record<string, Column> = {}
    this.out = out
    const names = file.names as string[]
    const cells = readCells(record, file.delimiter as number, this.found, this.wantsOf(file, names))
    if (cells === names.length) return out
    throw new DecodeError(`has ${cells} cells, and there are ${names.length} columns`)
  }

  private readonly found: OnCell = (want, text, quoted) => {
    const name = this.columns[want]
    const { type, declared } = this.types[name]
    try {
      const value = cellValue(text, quoted, type, declared)
      if (value !== undefined) this.out[name] = value
    } catch (error) {
      const why = declared
        ? `as "types" says of this column`
        : 'as the first rows made this column: if it is not, declare it, "types": ' +
          `{${JSON.stringify(name)}: "text"}`
      throw new DecodeError(`column "${name}": ${(error as Error).message}, ${why}`, { cause: error })
    }
  }

  private wantsOf(file: TextFileManifest, names: readonly string[]): Int32Array {
    let wants = this.wants.get(file)
    if (wants === undefined) {
      wants = Int32Array.from(names, name => (name === '' ? -1 : this.columns.indexOf(name)))
      this.wants.set(file, wants)
    }
    return wants
  }
}
