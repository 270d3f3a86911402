/**
 * Files that a list names, with what the list says about each: `{"files": {"list": "train.csv", "path": "file"}}`. Every
 * line of the list is a sample, in the order of the list. Every column of the list is a column of the sample and of the
 * index. The file's bytes have several names: `image`, `file`, the column that holds the path, and the file's extension.
 */
import type { NumberArray } from '../../core/source/index/columns.js'
import { IndexFile, type TextColumn } from '../../core/source/index/file.js'
import type { Column, Columns, IndexColumn, Pieces, Present, WholeFile } from '../../core/source/source.js'
import { FileListSource } from './file-list-source.js'
import type { ListManifest } from './open-list.js'

export class ListSource extends FileListSource {
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  protected readonly whole: Omit<WholeFile, 'extension'>
  private readonly cells = new Map<string, { text: TextColumn; numbers: NumberArray | undefined }>()
  private readonly repeats: NumberArray | undefined
  private readonly listed: ListManifest['listed']

  constructor(manifest: ListManifest) {
    super(manifest)
    const { columns, path, bytes, alsoBytes, only } = manifest.listed
    this.listed = manifest.listed
    const index = new IndexFile(manifest.index, true)
    for (const { name, number } of columns) {
      const numbers = number ? index.numbers(`number.${name}`) : undefined
      this.cells.set(name, { text: index.text(`cell.${name}`), numbers })
    }
    this.repeats = index.has('repeat') ? index.numbers('repeat') : undefined
    const own = columns.map(({ name }) => name)
    const byPath = path !== 'path' && alsoBytes.includes(path) ? [path] : []
    this.columns = only ? [bytes] : [...new Set([bytes, ...byPath, ...own, 'path'])]
    this.whole = { column: bytes, byExtension: true, reported: own.includes('path') ? [] : ['path'] }
    this.indexed = only ? [path] : [...new Set([...own, path, 'path', 'name', 'size'])]
  }

  override id(row: number): string {
    const repeat = this.repeats?.[row] ?? 0
    return repeat === 0 ? this.path(row) : `${this.path(row)}#${repeat + 1}`
  }

  override index(name: string): IndexColumn | undefined {
    const cells = this.cells.get(name)
    if (cells === undefined && this.listed.only && name !== this.listed.path) return undefined
    if (cells === undefined) return super.index(name === this.listed.path ? 'path' : name)
    const { text, numbers } = cells
    return numbers ? { type: 'number', at: row => numbers[row] } : { type: 'string', at: row => text.at(row) }
  }

  /** An empty cell, or null in JSON lines, says nothing. */
  present(row: number): Present {
    const says = (column: string) => this.cells.get(column)?.text.at(row) !== ''
    return { columns: this.columns.filter(says), possible: this.columns }
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    const out: Columns = {}
    for (const column of columns) {
      if (this.cells.has(column)) out[column] = this.cell(row, column)
      else if (this.listed.alsoBytes.includes(column)) out[column] = ranges[0]
      else if (this.listed.only) continue
      else if (column === 'path') out.path = this.path(row)
      else if (column === 'name') out.name = this.name(row)
      else if (this.isExtension(row, column)) out[column] = ranges[0]
    }
    return out
  }

  protected needsBytes(row: number, columns: readonly string[]): boolean {
    const { alsoBytes } = this.listed
    return columns.some(
      column => !this.cells.has(column) && (alsoBytes.includes(column) || this.isExtension(row, column)),
    )
  }

  private isExtension(row: number, column: string): boolean {
    return (
      !this.listed.only && column !== 'path' && column !== 'name' && column === this.wholeFile(row).extension
    )
  }

  /** The text as it stands in the list; a whole number that is written as a fraction (`3.0`, as pandas does) as that number. */
  private cell(row: number, name: string): Column {
    const { text, numbers } = this.cells.get(name) as { text: TextColumn; numbers: NumberArray | undefined }
    const value = text.at(row)
    return numbers !== undefined && /[.eE]/.test(value) && Number.isInteger(numbers[row])
      ? numbers[row]
      : value
  }
}
