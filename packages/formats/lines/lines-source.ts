/**
 * Text files while a feed runs: a row is a line, or a record of CSV. It is one range of its file, and what is wanted of it is
 * parsed when it is asked for.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import type { Layout } from '../../core/source/layout.js'
import type { Columns, IndexColumn, Manifest } from '../../core/source/source.js'
import type { IndexedFile } from '../indexed-files.js'
import { SplitFile, SplitRows } from '../rows-of-files.js'
import { type OnCell, readCells } from './csv/cells.js'
import { type CsvType, cellValue } from './csv/types.js'
import { JsonRow } from './json/row.js'

export interface LinesManifest extends Manifest {
  kind: 'jsonl' | 'csv' | 'text'
  files: TextFileManifest[]
  columns: string[]
  /** CSV: the type of each column, and whether the first rows have empty cells in it. */
  types: Record<string, { type: CsvType; declared: boolean; nulls: boolean }>
  /** JSON lines: the types of each column in the first rows, in words. Indexes of older versions don't tell them. */
  json?: Record<string, { type: string; nulls: boolean }>
  /** Of compressed files. */
  unitStarts?: Float64Array
}

export interface TextFileManifest extends IndexedFile {
  /** CSV: the byte between cells, whether there is a header, and the names of the cells. */
  delimiter?: number
  header?: boolean
  names?: string[]
}

/** Reads the wanted columns of a row. */
type ReadRow = (bytes: Uint8Array, file: TextFile, row: number) => Columns

/** A text file while a feed runs. */
class TextFile extends SplitFile {
  private readonly lines: NumberArray | undefined

  constructor(override readonly manifest: TextFileManifest) {
    super(manifest)
    this.lines = this.index.has('line') ? this.index.numbers('line') : undefined
  }

  /** The line in which a row begins, from 1. */
  line(row: number): number {
    return this.lines?.[row] ?? row + (this.manifest.header ? 2 : 1)
  }
}

export class LinesSource extends SplitRows<TextFile> {
  override readonly indexed = ['key', 'shard', 'line']
  private readonly readers = new PerColumns(columns => named(this.newReader(columns)))

  constructor(private readonly manifest: LinesManifest) {
    super(manifest, manifest.columns, i => new TextFile(manifest.files[i]))
  }

  override index(name: string): IndexColumn | undefined {
    if (name !== 'line') return super.index(name)
    const line = (row: number): number => {
      const inFile = this.rows.locate(row)
      return this.file().line(inFile)
    }
    return { type: 'number', at: line }
  }

  protected schema(): Layout {
    const { kind, types, columns, json } = this.manifest
    return {
      schema: columns.map(name => ({
        name,
        type: json?.[name]?.type
          ? `${json[name].type}, by the first rows`
          : typeText(kind, name, types[name]),
        ...((types[name] ?? json?.[name])?.nulls && { nulls: true }),
      })),
    }
  }

  protected read(bytes: Uint8Array, file: TextFile, row: number, columns: readonly string[]): Columns {
    return this.readers.of(columns)(bytes, file, row)
  }

  private newReader(columns: readonly string[]): ReadRow {
    const { kind, types } = this.manifest
    if (kind === 'text') return textReader(columns)
    if (kind === 'csv') {
      const rows = new CsvRow(columns, types)
      return (bytes, { manifest }) => rows.read(bytes, manifest)
    }
    const rows = new JsonRow(columns)
    return bytes => rows.read(bytes)
  }
}

function textReader(columns: readonly string[]): ReadRow {
  const [text, line] = [columns.includes('text'), columns.includes('line')]
  return (bytes, file, row) => {
    const out: Columns = {}
    if (text) out.text = firstLine(bytes)
    if (line) out.line = file.line(row)
    return out
  }
}

/** Without the line break, and without blank lines that follow. */
function firstLine(bytes: Uint8Array): Uint8Array {
  const found = bytes.indexOf(0x0a)
  let end = found < 0 ? bytes.length : found
  if (end > 0 && found >= 0 && bytes[end - 1] === 0x0d) end--
  return bytes.subarray(0, end)
}

/** What is wrong with a row is told with its line. */
function named(read: ReadRow): ReadRow {
  return (bytes, file, row) => {
    try {
      return read(bytes, file, row)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new DecodeError(`line ${file.line(row)} ${error.message}`, { cause: error })
    }
  }
}

function typeText(
  kind: LinesManifest['kind'],
  name: string,
  csv: { type: CsvType; declared: boolean } | undefined,
): string {
  if (kind === 'text') return name === 'line' ? 'int' : 'text'
  if (csv === undefined) return 'JSON'
  return csv.declared ? csv.type : `${csv.type}, by the first rows`
}

type Types = Readonly<Record<string, { type: CsvType; declared: boolean }>>

class CsvRow {
  /** By file: which cell is which wanted column. */
  private readonly wants = new WeakMap<TextFileManifest, Int32Array>()
  private out: Columns = {}

  constructor(
    private readonly columns: readonly string[],
    private readonly types: Types,
  ) {}

  read(record: Uint8Array, file: TextFileManifest): Columns {
    const out: Columns = {}
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
