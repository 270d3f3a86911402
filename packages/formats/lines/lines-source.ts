/**
 * Text files while a feed runs: a row is a line, or a record of CSV. It is one range of its file, and what is wanted of it is
 * parsed when it is asked for.
 */
import { DecodeError } from '../../core/basics/errors.js'
import type { Layout } from '../../core/source/layout.js'
import type { Column, IndexColumn, Manifest, Need, Pieces, Source } from '../../core/source/source.js'
import { fileKey } from '../shared/file-key.js'
import { FileRows, OpenIndexes } from '../shared/file-rows.js'
import { CsvRow } from './csv/row.js'
import type { CsvType } from './csv/types.js'
import { JsonRow } from './json/row.js'
import { TextFile, type TextFileManifest } from './text-file.js'

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

/** Reads the wanted columns of a row. */
type ReadRow = (bytes: Uint8Array, file: TextFile, row: number) => Record<string, Column>

export class LinesSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed = ['key', 'shard', 'line']
  protected readonly rows: FileRows
  private readonly files: OpenIndexes<TextFile>
  private readonly keys: string[]
  /** By the very array of column names: the engine uses the same one for every row. */
  private readonly readers = new WeakMap<readonly string[], ReadRow>()

  constructor(protected readonly manifest: LinesManifest) {
    const { files } = manifest
    this.rows = new FileRows(files.map(({ count }) => count))
    this.count = this.rows.count
    this.runs = this.rows.runs
    this.columns = manifest.columns
    this.files = new OpenIndexes(files.length, i => new TextFile(files[i]))
    this.keys = files.map(({ name }) => fileKey(name))
  }

  id(row: number): string {
    const inFile = this.rows.locate(row)
    return `${this.manifest.files[this.rows.file].name}:${inFile}`
  }

  key(row: number): string {
    const inFile = this.rows.locate(row)
    return `${this.keys[this.rows.file]}:${inFile}`
  }

  where(row: number): { file: string; offset: number } {
    const inFile = this.rows.locate(row)
    const { file, offset } = this.file().range(inFile)
    return { file, offset }
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name === 'shard') {
      return {
        type: 'string',
        at: row => {
          this.rows.locate(row)
          return this.manifest.files[this.rows.file].name
        },
      }
    }
    if (name !== 'line') return undefined
    return {
      type: 'number',
      at: row => {
        const inFile = this.rows.locate(row)
        return this.file().line(inFile)
      },
    }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length === 0) return
    const inFile = this.rows.locate(row)
    out.ranges.push(this.file().range(inFile))
  }

  sample(
    row: number,
    _epoch: number,
    columns: readonly string[],
    { ranges }: Pieces,
  ): Record<string, Column> {
    if (columns.length === 0) return {}
    const inFile = this.rows.locate(row)
    return this.read(ranges[0], this.file(), inFile, columns)
  }

  layout(): Layout {
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

  /** A row of a file, given its bytes. */
  protected read(
    bytes: Uint8Array,
    file: TextFile,
    row: number,
    columns: readonly string[],
  ): Record<string, Column> {
    return this.reader(columns)(bytes, file, row)
  }

  /** By number; otherwise the one that was located last. */
  protected file(file = this.rows.file): TextFile {
    return this.files.of(file)
  }

  private reader(columns: readonly string[]): ReadRow {
    let reader = this.readers.get(columns)
    if (reader === undefined) {
      reader = named(this.newReader(columns))
      this.readers.set(columns, reader)
    }
    return reader
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
    const out: Record<string, Column> = {}
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
