/**
 * A folder of images. Its subfolders are the classes, numbered in the order of their names, as torchvision's
 * ImageFolder does; whatever lies below a class folder, however deep, belongs to it. A folder without subfolders
 * is a plain list of images, without labels.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { nearest, SourceError } from '../errors.js'
import {
  type FileListManifest,
  FileListSource,
  fileListManifest,
  obtainFileList,
  shortHash,
} from './file-list.js'
import { IndexFile } from './index-file.js'
import type { IndexFound } from './index-place.js'
import type { Column, IndexColumn, OpenContext, SourceKind } from './source.js'

/** What the decoders can read. */
export const IMAGE_EXTENSIONS = ['jpg', 'jpeg', 'png', 'webp', 'gif', 'tif', 'tiff', 'avif']

type FolderJson = string | { path: string; classes?: string[]; extensions?: string[] }

interface FolderManifest extends FileListManifest {
  kind: 'folder'
  /** Names in the order of their labels; undefined for a folder without classes. */
  classes: string[] | undefined
}

export const folder: SourceKind<FolderJson> = {
  async open(json, context) {
    const { path, classes, extensions = IMAGE_EXTENSIONS } = typeof json === 'string' ? { path: json } : json
    const root = resolve(context.root, path)
    const byClass = hasSubfolders(root)
    let index = await listImages(root, extensions, byClass, context)
    let names = byClass ? classNames(index.path) : undefined
    if (byClass && index.header.count === 0) {
      index = await listImages(root, extensions, false, context)
      names = undefined
    }
    if (index.header.count === 0) throw empty(root, extensions)
    if (classes !== undefined) names = givenClasses(root, names, classes)
    const manifest = fileListManifest('folder', root, index)
    return { ...manifest, classes: names } as FolderManifest
  },

  attach(manifest) {
    return new FolderSource(manifest as FolderManifest)
  },
}

class FolderSource extends FileListSource {
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
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

  sample(row: number, pieces: readonly Uint8Array[], columns: readonly string[]): Record<string, Column> {
    const out: Record<string, Column> = {}
    const label = this.labels?.[this.folder[row]]
    for (const column of columns) {
      if (column === 'image') out.image = pieces[0]
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

function hasSubfolders(root: string): boolean {
  try {
    return readdirSync(root, { withFileTypes: true }).some(
      entry =>
        !entry.name.startsWith('.') &&
        (entry.isDirectory() ||
          (entry.isSymbolicLink() &&
            statSync(`${root}/${entry.name}`, { throwIfNoEntry: false })?.isDirectory())),
    )
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const problem =
      code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is no folder' : `can't be read: ${code}`
    throw new SourceError(`${root} ${problem}: check the path of the source "folder"`, {
      file: root,
      cause: error,
    })
  }
}

function listImages(
  root: string,
  extensions: readonly string[],
  byClass: boolean,
  context: OpenContext,
): Promise<IndexFound> {
  const accepted = new Set(extensions.map(extension => extension.toLowerCase().replace(/^\./, '')))
  const spec = `${byClass ? 'classes' : 'flat'} ${[...accepted].sort().join(',')}`
  const usual = extensions === IMAGE_EXTENSIONS && byClass
  const name = usual ? `.${basename(root)}.millrace` : `.${basename(root)}-${shortHash(spec)}.millrace`
  let outside = 0
  return obtainFileList(
    {
      root,
      data: usual ? root : join(root, shortHash(spec)),
      beside: join(dirname(root), name),
      spec,
      walk: {
        enter: () => byClass,
        take: file => {
          if (!accepted.has(file.slice(file.lastIndexOf('.') + 1).toLowerCase())) return false
          if (!byClass || file.includes('/')) return true
          if (outside++ === 0)
            context.notice?.(`${root}/${file} and its like lie in no class folder: left out`)
          return false
        },
      },
    },
    context,
  )
}

/** The top folder of a relative folder path. */
function classOf(folderPath: string): string {
  return folderPath.slice(0, folderPath.indexOf('/'))
}

/** Names of the class folders that hold an image, sorted byte by byte. */
function classNames(indexPath: string): string[] {
  const index = new IndexFile(indexPath)
  const folders = index.text('folders')
  const used = new Set(index.numbers('folder'))
  const names = new Set([...used].map(number => classOf(folders.at(number))))
  return [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

/** The classes as the definition orders them: every class folder must be among them. */
function givenClasses(root: string, found: readonly string[] | undefined, given: string[]): string[] {
  if (found === undefined) {
    throw new SourceError(`${root} has no class folders, but the definition names ${given.length} classes`, {
      file: root,
    })
  }
  for (const name of found) {
    if (given.includes(name)) continue
    const near = nearest(name, given)
    throw new SourceError(
      `${root}/${name} is none of the classes in the definition${near ? ` (did you mean "${near}"?)` : ''}: ` +
        'add it to "classes", or move the folder away',
      { file: join(root, name) },
    )
  }
  return given
}

function empty(root: string, extensions: readonly string[]): SourceError {
  return new SourceError(
    `no image in ${root}: looked for names that end in ${extensions.map(e => `.${e.replace(/^\./, '')}`).join(' ')}, ` +
      'in it and below; check the path, or set "extensions"',
    { file: root },
  )
}
