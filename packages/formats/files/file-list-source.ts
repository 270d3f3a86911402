/** A list of files while a feed runs: what `folder`, `files` and lists have in common. A sample is a whole file. */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { Columns, IndexColumn, Need, Pieces, Source, WholeFile } from '../../core/source/source.js'
import type { FileIdentity } from '../../core/store/identity.js'
import type { Version } from '../../core/store/store.js'
import { fileKey } from '../shared/file-key.js'
import { goesUp } from '../shared/within.js'
import type { FileListManifest } from './file-list.js'

export abstract class FileListSource implements Source {
  readonly count: number
  readonly runs = new Float64Array(1)
  abstract readonly columns: readonly string[]
  abstract readonly indexed: readonly string[]
  /** The column with the file's bytes, and those that its name tells. */
  protected abstract readonly whole: Omit<WholeFile, 'extension'>
  /** Folders' relative paths with a slash at the end, by number; names and sizes by row. */
  protected readonly folders: string[]
  protected readonly folder: NumberArray
  protected readonly sizes: NumberArray
  /** What each file was when it was listed: local files have a time of change, objects of other stores a version. */
  private readonly times: NumberArray | undefined
  private readonly versions: { at(row: number): string } | undefined
  /** The folder, with a slash at its end. */
  private readonly prefix: string
  private readonly listedIn: FileIdentity['index']
  private readonly names: { at(row: number): string }

  constructor(protected readonly manifest: FileListManifest) {
    const index = new IndexFile(manifest.index, true)
    if (index.header.checksum !== manifest.checksum) {
      throw inFile(manifest.root, 'was changed after the feed was opened: start again')
    }
    const folders = index.text('folders')
    this.folders = Array.from({ length: folders.length }, (_, i) => folders.at(i))
    // An index comes with the data, and names nothing that is not below its root.
    const wrong = this.folders.find(goesUp)
    if (wrong !== undefined) throw forged(manifest.index, wrong)
    this.folder = index.numbers('folder')
    this.names = index.text('name')
    this.sizes = index.numbers('size')
    if (index.has('version')) this.versions = index.text('version')
    else this.times = index.numbers('time')
    this.prefix = manifest.root.endsWith('/') ? manifest.root : `${manifest.root}/`
    this.listedIn = { path: manifest.index, checksum: manifest.checksum, checked: manifest.checked }
    this.count = index.header.count
  }

  id(row: number): string {
    return this.path(row)
  }

  key(row: number): string {
    return fileKey(this.path(row))
  }

  name(row: number): string {
    return this.names.at(row)
  }

  /** Relative path. */
  path(row: number): string {
    return this.folders[this.folder[row]] + this.names.at(row)
  }

  where(row: number): { file: string; offset: number } {
    return { file: this.file(row), offset: 0 }
  }

  wholeFile(row: number): WholeFile {
    return { ...this.whole, extension: extensionOf(this.name(row)) }
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'path') return { type: 'string', at: row => this.path(row) }
    if (name === 'name') return { type: 'string', at: row => this.name(row) }
    if (name === 'size') return { type: 'number', at: row => this.sizes[row] }
    return undefined
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (!this.needsBytes(row, columns)) return
    const size = this.sizes[row]
    out.ranges.push({ file: this.file(row), offset: 0, length: size, was: this.was(row) })
  }

  abstract sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns

  /** Whether any of the columns is made of the file's contents. */
  protected abstract needsBytes(row: number, columns: readonly string[]): boolean

  private was(row: number): Version {
    const { times } = this
    if (times === undefined) return this.versions!.at(row)
    return { size: this.sizes[row], mtimeMs: times[row], index: this.listedIn }
  }

  private file(row: number): string {
    const name = this.names.at(row)
    if (name.includes('/')) throw forged(this.manifest.index, name)
    return this.prefix + this.folders[this.folder[row]] + name
  }
}

function forged(index: string, name: string): SourceError {
  return inFile(index, `names ${name}, which leads out of its folder: remove the index, it is made anew`)
}

/** Lower case, without the dot; empty where there is none. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1).toLowerCase()
}
