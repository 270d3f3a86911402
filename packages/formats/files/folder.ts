/**
 * A folder of images. Its subfolders are the classes (see classes.ts); all pictures below a class folder belong to the
 * class, at any depth. A folder without subfolders is a list of images without labels. What lists the pictures
 * (open-folder.ts) is loaded when a feed is opened: workers attach to what was found.
 */
import type { Columns, IndexColumn, Pieces, SourceKind } from '../../core/source/source.js'
import { classOf } from './classes.js'
import { FileListSource } from './file-list-source.js'
import type { FolderJson, FolderManifest } from './open-folder.js'

export const folder: SourceKind<FolderJson> = {
  open: async (json, context) => (await import('./open-folder.js')).openFolder(json, context),
  attach: manifest => new FolderSource(manifest as FolderManifest),
}

class FolderSource extends FileListSource {
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  protected readonly whole = { column: 'image', byExtension: false, reported: ['class', 'path'] }
  private readonly classes: string[] | undefined
  /** By number of the folder. */
  private readonly labels: Float64Array | undefined

  constructor(manifest: FolderManifest) {
    super(manifest)
    const { classes } = manifest
    this.classes = classes
    this.columns = classes ? ['image', 'label', 'class', 'path'] : ['image', 'path']
    this.indexed = classes ? ['label', 'class', 'path', 'name', 'size'] : ['path', 'name', 'size']
    const numbers = new Map(classes?.map((name, i) => [name, i]))
    this.labels = classes && Float64Array.from(this.folders, path => numbers.get(classOf(path)) ?? -1)
  }

  override index(name: string): IndexColumn | undefined {
    const { labels, classes } = this
    if (labels && classes && name === 'label') return { type: 'number', at: row => labels[this.folder[row]] }
    if (labels && classes && name === 'class') {
      return { type: 'string', at: row => classes[labels[this.folder[row]]] }
    }
    return super.index(name)
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    const out: Columns = {}
    const label = this.labels?.[this.folder[row]]
    for (const column of columns) {
      if (column === 'image') out.image = ranges[0]
      else if (column === 'path') out.path = this.path(row)
      else if (column === 'label' && label !== undefined) out.label = label
      else if (column === 'class' && label !== undefined) out.class = this.classes?.[label] as string
    }
    return out
  }

  protected needsBytes(_row: number, columns: readonly string[]): boolean {
    return columns.includes('image')
  }
}
