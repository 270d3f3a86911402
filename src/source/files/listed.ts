/**
 * Files that a list names, with what the list says about each: `{"files": {"list": "train.csv", "path": "file"}}`. Every
 * line of the list is a sample, in the order of the list. Every column of the list is a column of the sample and of the
 * index. The file's bytes have several names: `image`, `file`, the column that holds the path, and the file's extension.
 */
import { dirname, join, resolve } from 'node:path'
import { SourceError } from '../../basics/errors.js'
import type { ListJson } from '../../define/types.js'
import type { NumberArray } from '../index/columns.js'
import { IndexFile, type TextColumn } from '../index/file.js'
import type { Column, IndexColumn, OpenContext, Present, WholeFile } from '../source.js'
import { type FileListManifest, fileListManifest } from './file-list.js'
import { FileListSource } from './file-list-source.js'
import { IMAGE_EXTENSIONS } from './folder.js'
import type { ListColumn, ListMeta } from './list-build.js'

/** As many files are looked at to see whether they are pictures. */
const LOOKED_AT = 100

export interface ListManifest extends FileListManifest {
  kind: 'files'
  listed: {
    columns: ListColumn[]
    /** The column that holds the path. */
    path: string
    /** The first of the names that the file's bytes go by, and all of them. */
    bytes: string
    alsoBytes: string[]
  }
}

export async function openList(json: ListJson, context: OpenContext): Promise<ListManifest> {
  const { path = 'path' } = json
  const list = resolve(context.root, json.list)
  const root = json.root === undefined ? dirname(list) : resolve(context.root, json.root)
  // Loaded here: workers, which attach to an index that is there, start sooner without it.
  const { obtainListIndex } = await import('./list-index.js')
  const index = await obtainListIndex({ list, root, path }, context)
  const { columns, from } = index.header.meta as unknown as ListMeta
  const manifest = fileListManifest('files', join(root, from), index)
  const alsoBytes = bytesNames(index.path, columns, path)
  if (alsoBytes.length === 0) {
    throw new SourceError(
      `${list} has columns "image" and "file" besides "path": rename one of them, so that the file's bytes have a name`,
      { file: list },
    )
  }
  return { ...manifest, kind: 'files', listed: { columns, path, bytes: alsoBytes[0], alsoBytes } }
}

/** What the file's bytes go by: the list's own columns come first. */
function bytesNames(indexPath: string, columns: readonly ListColumn[], path: string): string[] {
  const names = new IndexFile(indexPath).text('name')
  const looked = Math.min(LOOKED_AT, names.length)
  const pictures = Array.from({ length: looked }, (_, i) => names.at(i)).every(name =>
    IMAGE_EXTENSIONS.includes(name.slice(name.lastIndexOf('.') + 1).toLowerCase()),
  )
  const usual = pictures ? ['image', 'file'] : ['file', 'image']
  const own = usual.filter(name => !columns.some(column => column.name === name))
  return path === 'path' || own.includes(path) ? own : [...own, path]
}

export class ListSource extends FileListSource {
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  protected readonly whole: Omit<WholeFile, 'extension'>
  private readonly cells = new Map<string, { text: TextColumn; numbers: NumberArray | undefined }>()
  private readonly repeats: NumberArray | undefined
  private readonly listed: ListManifest['listed']

  constructor(manifest: ListManifest) {
    super(manifest)
    const { columns, path, bytes } = manifest.listed
    this.listed = manifest.listed
    const index = new IndexFile(manifest.index, true)
    for (const { name, number } of columns) {
      const numbers = number ? index.numbers(`number.${name}`) : undefined
      this.cells.set(name, { text: index.text(`cell.${name}`), numbers })
    }
    this.repeats = index.has('repeat') ? index.numbers('repeat') : undefined
    const own = columns.map(({ name }) => name)
    this.columns = [...new Set([bytes, ...(path === 'path' ? [] : [path]), ...own, 'path'])]
    this.whole = { column: bytes, byExtension: true, told: own.includes('path') ? [] : ['path'] }
    this.indexed = [...new Set([...own, path, 'path', 'name', 'size'])]
  }

  override id(row: number): string {
    const repeat = this.repeats?.[row] ?? 0
    return repeat === 0 ? this.path(row) : `${this.path(row)}#${repeat + 1}`
  }

  override index(name: string): IndexColumn | undefined {
    const cells = this.cells.get(name)
    if (cells === undefined) return super.index(name === this.listed.path ? 'path' : name)
    const { text, numbers } = cells
    return numbers ? { type: 'number', at: row => numbers[row] } : { type: 'string', at: row => text.at(row) }
  }

  present(): Present {
    return { columns: this.columns }
  }

  sample(row: number, pieces: readonly Uint8Array[], columns: readonly string[]): Record<string, Column> {
    const out: Record<string, Column> = {}
    for (const column of columns) {
      if (this.cells.has(column)) out[column] = this.cell(row, column)
      else if (this.listed.alsoBytes.includes(column)) out[column] = pieces[0]
      else if (column === 'path') out.path = this.path(row)
      else if (column === 'name') out.name = this.name(row)
      else if (this.isExtension(row, column)) out[column] = pieces[0]
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
    return column !== 'path' && column !== 'name' && column === this.wholeFile(row).extension
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
