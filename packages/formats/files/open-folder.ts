/**
 * Opens a folder of images: lists the pictures below it, and numbers its classes. A notice counts the files that are left
 * out, every time.
 */

import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { inFile, SourceError } from '../../core/basics/errors.js'
import { prefixOf, resolveFolder } from '../../core/source/find/names.js'
import type { OpenContext } from '../../core/source/source.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { isHidden } from '../shared/hidden.js'
import { type FoundObject, listObjects } from '../shared/objects.js'
import type { Counted } from '../shared/within.js'
import { classFolders, numberClasses } from './classes.js'
import {
  type FileList,
  type FileListManifest,
  fileListManifest,
  type LeftOut,
  leftOutOf,
  obtainFileList,
  shortHash,
} from './file-list.js'

export interface FolderOptions {
  /** Names in the order of their labels, or the folder whose classes these are. */
  classes?: string | string[]
  extensions?: string[]
}
/** A folder of images. */
export type FolderJson = string | ({ path: string } & FolderOptions)

/** What the decoders can read. */
export const IMAGE_EXTENSIONS = ['jpg', 'jpeg', 'png', 'webp', 'gif', 'bmp', 'tif', 'tiff', 'avif']

export interface FolderManifest extends FileListManifest {
  kind: 'folder'
  /** Names in the order of their labels; undefined for a folder without classes. */
  classes: string[] | undefined
}

export async function openFolder(json: FolderJson, context: OpenContext): Promise<FolderManifest> {
  const { path, classes, extensions = IMAGE_EXTENSIONS } = typeof json === 'string' ? { path: json } : json
  const root = resolveFolder(context.root, path)
  const { index, plain } = await listFolder(root, extensions, context)
  if (index.header.count === 0) throw empty(root, extensions)
  if (plain && Array.isArray(classes) && wantsLabels(context)) throw noClasses(root, classes)
  const names = plain ? undefined : await numbered(root, index, classes, extensions, context)
  const left = leftOutText(leftOutOf(index))
  if (left !== undefined) context.notice?.(`${root}: ${left} left out`)
  const manifest = fileListManifest('folder', root, index)
  return { ...manifest, classes: names } as FolderManifest
}

/** The pictures below a folder; `plain` where it has no class folders. */
async function listFolder(
  root: string,
  extensions: readonly string[],
  context: OpenContext,
): Promise<{ index: FileList; plain: boolean }> {
  const objects = schemeOf(root) === undefined ? undefined : await objectsIn(root, context)
  const byClass = objects?.some(({ path }) => /^[^./][^/]*\//.test(path)) ?? hasSubfolders(root)
  const index = await listImages(root, extensions, byClass, context, objects)
  if (!byClass || index.header.count > 0) return { index, plain: !byClass }
  return { index: await listImages(root, extensions, false, context, objects), plain: true }
}

/** The classes in the order of their labels: as they are given, as another folder has them, or the folder's own. */
async function numbered(
  root: string,
  index: FileList,
  given: string | string[] | undefined,
  extensions: readonly string[],
  context: OpenContext,
): Promise<string[]> {
  const own = classFolders(index.path)
  const like =
    typeof given === 'string' && wantsLabels(context) ? resolveFolder(context.root, given) : undefined
  if (Array.isArray(given)) return numberClasses(root, own, given, context.notice)
  if (like !== undefined) {
    const names = await classesOf(like, root, extensions, context)
    if (names !== undefined) return numberClasses(root, own, names, context.notice, like)
  }
  return numberClasses(root, own, undefined, context.notice)
}

/** The classes of the folder by which labels go; undefined where it has none. */
async function classesOf(
  like: string,
  root: string,
  extensions: readonly string[],
  context: OpenContext,
): Promise<string[] | undefined> {
  try {
    const { index, plain } = await listFolder(like, extensions, { ...context, notice: undefined })
    return plain ? undefined : numberClasses(like, classFolders(index.path), undefined)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    throw new SourceError(
      `${root}: its classes are numbered as those of ${like}, which can't be known: ${error.message}. Or name them in the order of ` +
        'their labels: "classes": ["cat", "dog"]',
      { file: like, cause: error },
    )
  }
}

/** Whether numbers of classes matter. Who asks for no column by name may want any. */
function wantsLabels({ wanted, indexed = [] }: OpenContext): boolean {
  return wanted.length === 0 || [...wanted, ...indexed].some(name => name === 'label' || name === 'class')
}

/** All objects of a folder in another store. */
async function objectsIn(root: string, { progress }: OpenContext): Promise<FoundObject[]> {
  using stores = new Stores()
  const found = await listObjects(stores, root, files => progress?.(files, 0, `listing ${root}`, 'files'))
  if (found.length > 0) return found
  throw new SourceError(`there is nothing in ${root}: check the path of the source "folder"`, { file: root })
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
    throw inFile(root, `${problem}: check the path of the source "folder"`, { cause: error })
  }
}

function listImages(
  root: string,
  extensions: readonly string[],
  byClass: boolean,
  context: OpenContext,
  objects: readonly FoundObject[] | undefined,
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
      data: usual ? root : `${prefixOf(root)}${shortHash(spec)}`,
      beside: objects === undefined ? join(dirname(root), name) : undefined,
      spec,
      objects,
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

function oneMore(some: Counted | undefined, file: string): Counted {
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
  return inFile(
    root,
    `has no class folders with pictures, but the definition names ${classes.length} classes`,
  )
}

function empty(root: string, extensions: readonly string[]): SourceError {
  return new SourceError(
    `no image in ${root}: looked for names that end in ${extensions.map(e => `.${e.replace(/^\./, '')}`).join(' ')}, ` +
      'in it and below; check the path, or set "extensions"',
    { file: root },
  )
}
