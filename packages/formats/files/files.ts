/**
 * Files as they are: each one is a sample. A file's bytes are the column of its extension, and also `file`; its relative path
 * and its name are `path` and `name`. What finds files (open-files.ts, open-list.ts) is loaded when a feed is opened: workers
 * attach to what was found.
 */
import type { Columns, Pieces, Present, SourceKind } from '../../core/source/source.js'
import { extensionOf, FileListSource } from './file-list-source.js'
import { ListSource } from './listed.js'
import type { FilesManifest } from './open-files.js'
import type { ListJson, ListManifest } from './open-list.js'

export const files: SourceKind<string | string[] | ListJson> = {
  async open(json, context) {
    if (typeof json === 'object' && !Array.isArray(json))
      return (await import('./open-list.js')).openList(json, context)
    return (await import('./open-files.js')).openFiles(json, context)
  },

  attach(manifest) {
    return 'listed' in manifest
      ? new ListSource(manifest as ListManifest)
      : new FilesSource(manifest as FilesManifest)
  },
}

class FilesSource extends FileListSource {
  readonly columns: readonly string[]
  readonly indexed: readonly string[] = ['path', 'name', 'size']
  protected readonly whole = { column: 'file', byExtension: true, reported: ['path', 'name'] }

  constructor(manifest: FilesManifest) {
    super(manifest)
    this.columns = manifest.columns
  }

  present(row: number): Present {
    const extension = extensionOf(this.name(row))
    return { columns: [...(extension === '' ? [] : [extension]), 'file', 'path', 'name'] }
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    const out: Columns = {}
    const extension = extensionOf(this.name(row))
    for (const column of columns) {
      if (column === 'path') out.path = this.path(row)
      else if (column === 'name') out.name = this.name(row)
      else if (column === 'file' || column === extension) out[column] = ranges[0]
    }
    return out
  }

  protected needsBytes(row: number, columns: readonly string[]): boolean {
    return columns.includes('file') || columns.includes(extensionOf(this.name(row)))
  }
}
