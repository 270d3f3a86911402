/**
 * A folder of images. Its subfolders are the classes (see classes.ts); all pictures below a class folder belong to the
 * class, at any depth. A folder without subfolders is a list of images without labels. A notice counts the files that are
 * left out, every time.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SourceError } from '../../basics/errors.js'
import { expandHome } from '../../basics/path.js'
import { isHidden } from '../find/walk.js'
import type { Column, IndexColumn, OpenContext, SourceKind } from '../source.js'
import { classFolders, classOf, numberClasses } from './classes.js'
import {
  type FileList,
  type FileListManifest,
  fileListManifest,
  type LeftOut,
  leftOutOf,
  obtainFileList,
  type Some,
  shortHash,
} from './file-list.js'
import { FileListSource } from './file-list-source.js'

/** What the decoders can read. */
export const IMAGE_EXTENSIONS = ['jpg', 'jpeg', 'png', 'webp', 'gif', 'bmp', 'tif', 'tiff', 'avif']

type FolderJson = string | { path: string; classes?: string[]; extensions?: string[] }

interface FolderManifest extends FileListManifest {
  kind: 'folder'
  /** Names in the order of their labels; undefined for a folder without classes. */
  classes: string[] | undefined
}

export const folder: SourceKind<FolderJson> = {
  async open(json, context) {
    const { path, classes, extensions = IMAGE_EXTENSIONS } = typeof json === 'string' ? { path: json } : json
    const root = resolve(context.root, expandHome(path))
    const byClass = hasSubfolders(root)
    let index = await listImages(root, extensions, byClass, context)
    const plain = !byClass || index.header.count === 0
    if (byClass && plain) index = await listImages(root, extensions, false, context)
    if (index.header.count === 0) throw empty(root, extensions)
    if (plain && classes !== undefined) throw noClasses(root, classes)
    const names = plain ? undefined : numberClasses(root, classFolders(index.path), classes, context.notice)
    const left = leftOutText(leftOutOf(index))
    if (left !== undefined) context.notice?.(`${root}: ${left} left out`)
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
  protected readonly whole = { column: 'image', byExtension: false, told: ['class', 'path'] }
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
): Promise<FileList> {
  const accepted = new Set(extensions.map(extension => extension.toLowerCase().replace(/^\./, '')))
  // The number counts the rules for what is left out: an index by earlier ones does not fit.
  const spec = `${byClass ? 'classes' : 'flat'} 2 ${[...accepted].sort().join(',')}`
  const usual = extensions === IMAGE_EXTENSIONS && byClass
  const name = usual ? `.${basename(root)}.millrace` : `.${basename(root)}-${shortHash(spec)}.millrace`
  const leftOut: LeftOut = {}
  const others = new Map<string, number>()
  return obtainFileList(
    {
      root,
      data: usual ? root : join(root, shortHash(spec)),
      beside: join(dirname(root), name),
      spec,
      walk: {
        enter: () => byClass,
        take: file => {
          const extension = extensionOf(file)
          const picture = accepted.has(extension)
          if (isHidden(file)) {
            if (picture) leftOut.hidden = oneMore(leftOut.hidden, file)
          } else if (!picture) {
            others.set(extension, (others.get(extension) ?? 0) + 1)
          } else if (byClass && !file.includes('/')) {
            leftOut.outside = oneMore(leftOut.outside, file)
          } else return true
          return false
        },
      },
      leftOut: () => ({ ...leftOut, others: Object.fromEntries(others) }),
    },
    context,
  )
}

/** Lower case, without the dot; empty where there is none. */
function extensionOf(file: string): string {
  const name = file.slice(file.lastIndexOf('/') + 1)
  return name.includes('.', 1) ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : ''
}

function oneMore(some: Some | undefined, file: string): Some {
  return { count: (some?.count ?? 0) + 1, first: some !== undefined && some.first < file ? some.first : file }
}

/** Kinds of files that are named; the rest is counted. */
const MOST_KINDS = 4

/** `2 pictures in no class folder (such as stray.jpg) and 3 other files (2 .txt, 1 .xml)`; undefined where all are taken. */
function leftOutText({ outside, hidden, others = {} }: LeftOut): string | undefined {
  const parts: string[] = []
  const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
  if (outside)
    parts.push(`${counted(outside.count, 'picture')} in no class folder (such as ${outside.first})`)
  if (hidden) parts.push(`${counted(hidden.count, 'hidden picture')} (such as ${hidden.first})`)
  const kinds = Object.entries(others).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  if (kinds.length > 0) {
    const total = kinds.reduce((sum, [, n]) => sum + n, 0)
    const names = kinds
      .slice(0, MOST_KINDS)
      .map(([kind, n]) => `${n} ${kind === '' ? 'without extension' : `.${kind}`}`)
    const more = kinds.length > MOST_KINDS ? ', …' : ''
    parts.push(`${counted(total, 'other file')} (${names.join(', ')}${more})`)
  }
  return parts.length === 0 ? undefined : parts.join(' and ')
}

function noClasses(root: string, classes: readonly string[]): SourceError {
  return new SourceError(
    `${root} has no class folders with pictures, but the definition names ${classes.length} classes`,
    { file: root },
  )
}

function empty(root: string, extensions: readonly string[]): SourceError {
  return new SourceError(
    `no image in ${root}: looked for names that end in ${extensions.map(e => `.${e.replace(/^\./, '')}`).join(' ')}, ` +
      'in it and below; check the path, or set "extensions"',
    { file: root },
  )
}
