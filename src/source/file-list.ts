/**
 * A list of files as a source: what `folder` and `files` have in common. The list is an index (folders, names,
 * sizes) that is good as long as no folder in it was changed; a sample is a whole file.
 */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { SourceError } from '../errors.js'
import type { NumberArray } from './columns.js'
import { fileKey } from './file-key.js'
import { IndexFile, type IndexHeader, writeIndex } from './index-file.js'
import { type IndexFound, obtainIndex } from './index-place.js'
import type { ByteRange, Column, Fingerprint, IndexColumn, Manifest, OpenContext, Source } from './source.js'
import { type WalkOptions, walkFiles } from './walk.js'

export interface FileListWanted {
  /** The folder that all files lie below, absolute. */
  root: string
  /** Names the index in the cache folder. */
  data: string
  beside?: string
  /** What was looked for, in a word: an index for something else doesn't fit. */
  spec: string
  walk: Pick<WalkOptions, 'enter' | 'take'>
  /** What the walk left out, to be kept with the index. Asked when it is done. */
  leftOut?: () => LeftOut
}

/** Files that lie there and are no samples. */
export interface LeftOut {
  /** Pictures in no class folder, and hidden ones: how many, and one of them. */
  outside?: Some
  hidden?: Some
  /** Other files, by extension. */
  others?: Record<string, number>
}

export interface Some {
  count: number
  first: string
}

export interface FileListManifest extends Manifest {
  root: string
  index: string
  checksum: number
}

interface FileListMeta {
  digest: string
  bytes: number
  spec: string
  leftOut?: LeftOut
}

/** What was left out when the index was made. */
export function leftOutOf({ header }: IndexFound): LeftOut {
  return (header.meta as unknown as FileListMeta).leftOut ?? {}
}

/** Finds or makes the index of the files below a folder. */
export async function obtainFileList(wanted: FileListWanted, context: OpenContext): Promise<IndexFound> {
  const { root, spec, walk } = wanted
  return obtainIndex({
    data: wanted.data,
    beside: wanted.beside,
    problem: (header, path) => staleness(header, path, root, spec),
    notice: context.notice,
    build: async path => {
      const progress = (files: number): void => context.progress?.(files, 0, `listing ${root}`, 'files')
      const { count, bytes, digest, folders, folderTimes, folder, name, size } = await walkFiles(root, {
        ...walk,
        progress,
        notice: context.notice,
      })
      const leftOut = wanted.leftOut?.()
      const meta = { digest, bytes, spec, ...(leftOut && { leftOut }) } satisfies FileListMeta
      writeIndex(path, 'files', count, meta, { folders, folderTimes, folder, name, size })
    },
  })
}

/** The manifest's part that every list of files has. */
export function fileListManifest(kind: string, root: string, { path, header }: IndexFound): FileListManifest {
  const { digest, bytes } = header.meta as unknown as FileListMeta
  const fingerprint: Fingerprint = {
    kind,
    count: header.count,
    digest,
    parts: [{ name: kind, count: header.count, bytes }],
  }
  return { kind, fingerprint, indexBytes: header.bytes, root, index: path, checksum: header.checksum }
}

/** A short name for a specification, to tell indexes of the same folder apart. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function staleness(header: IndexHeader, path: string, root: string, spec: string): string | undefined {
  if (header.kind !== 'files') return `it is an index of "${header.kind}"`
  if ((header.meta as unknown as FileListMeta).spec !== spec) return 'it was made for other names'
  const index = new IndexFile(path)
  const folders = index.text('folders')
  const times = index.numbers('folderTimes')
  for (let i = 0; i < folders.length; i++) {
    const stat = statSync(`${root}/${folders.at(i)}`, { throwIfNoEntry: false })
    if (stat?.mtimeMs !== times[i])
      return `the folder ${root}/${folders.at(i)} was changed after the index was made`
  }
  return undefined
}

export abstract class FileListSource implements Source {
  readonly count: number
  readonly units: number
  readonly runs = new Float64Array(1)
  abstract readonly columns: readonly string[]
  abstract readonly indexed: readonly string[]
  /** Folders' relative paths with a slash at the end, by number; names and sizes by row. */
  protected readonly folders: string[]
  protected readonly folder: NumberArray
  protected readonly sizes: NumberArray
  private readonly names: { at(row: number): string }

  constructor(protected readonly manifest: FileListManifest) {
    const index = new IndexFile(manifest.index)
    if (index.header.checksum !== manifest.checksum) {
      throw new SourceError(`${manifest.root} was changed after the feed was opened: start again`, {
        file: manifest.root,
      })
    }
    const folders = index.text('folders')
    this.folders = Array.from({ length: folders.length }, (_, i) => folders.at(i))
    this.folder = index.numbers('folder')
    this.names = index.text('name')
    this.sizes = index.numbers('size')
    this.count = index.header.count
    this.units = this.count
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

  index(name: string): IndexColumn | undefined {
    if (name === 'path') return { type: 'string', at: row => this.path(row) }
    if (name === 'name') return { type: 'string', at: row => this.name(row) }
    if (name === 'size') return { type: 'number', at: row => this.sizes[row] }
    return undefined
  }

  unitOf(row: number): number {
    return row
  }

  plan(unit: number, columns: readonly string[]): ByteRange[] {
    if (!this.needsBytes(unit, columns)) return []
    return [{ file: this.file(unit), offset: 0, length: this.sizes[unit] }]
  }

  abstract sample(
    row: number,
    pieces: readonly Uint8Array[],
    columns: readonly string[],
  ): Record<string, Column>

  /** Whether any of the columns is made of the file's contents. */
  protected abstract needsBytes(row: number, columns: readonly string[]): boolean

  private file(row: number): string {
    return `${this.manifest.root}/${this.path(row)}`
  }
}
