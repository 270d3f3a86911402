/** Which format a file or folder has, by its name, and where names don't say it, by its first bytes. */
import { type Dirent, readdirSync } from 'node:fs'
import { allFormats } from '../../core/define/format.js'
import type { SourceJson } from '../../core/define/types.js'
import { expandPattern } from '../../core/source/find/data-files.js'
import { formatByStart, formatEnd, formatOf } from '../../core/source/find/formats.js'
import { isGlob } from '../../core/source/find/glob.js'
import { resolveName } from '../../core/source/find/names.js'
import type { Stores } from '../../core/store/stores.js'
import { IMAGE_EXTENSIONS } from '../../formats/files/open-folder.js'
import { columnOfPaths, startOf } from './list-of-files.js'

/** The source of a file or pattern whose name says its format. A table that names files is a list of files. */
export async function sourceOfFormat(path: string, stores: Stores): Promise<SourceJson | undefined> {
  const format = formatOf(path)
  if (format === undefined) return undefined
  const one = !isGlob(path) && !path.includes('{') && !/\.(gz|zst)$/.test(path)
  const column = one ? await columnOfPaths(path, stores) : undefined
  if (column !== undefined) return { files: { list: path, ...(column !== 'path' && { path: column }) } }
  return sourceOf(format, path)
}

export const sourceOf = (format: string, paths: string | string[]): SourceJson =>
  ({ [format]: paths }) as unknown as SourceJson

/** Subfolders that are looked into. */
const SUBFOLDERS = 64

/**
 * The source that a local folder is; undefined: a folder of images, or of files that no format is known for. Files of a format may lie
 * in subfolders, as in downloads of Hugging Face (`data/train-00000-of-00002.parquet`).
 */
export async function sourceOfFolder(path: string, stores: Stores): Promise<SourceJson | undefined> {
  const folder = path.replace(/(?<=.)\/+$/, '')
  const entries = readdirSync(folder, { withFileTypes: true })
  const names = entries.map(entry => entry.name).sort()
  for (const { name: format, finds } of allFormats())
    for (const [name, word] of finds?.markers ?? [])
      if (names.includes(name) && (await startOf(`${folder}/${name}`, stores)).toString().includes(word))
        return sourceOf(format, path)
  // The table beside the pictures of Hugging Face's ImageFolder.
  for (const name of names.filter(name => /^metadata\.(csv|jsonl)$/.test(name))) {
    const list = await sourceOfFormat(`${folder}/${name}`, stores)
    if (list !== undefined && 'files' in list) return list
  }
  const here = filesOfFormat(`${folder}/`, '*', names)
  if (here !== undefined) return here
  const below = namesBelow(folder, entries)
  return [...names, ...below].some(name => PICTURE.test(name))
    ? undefined
    : filesOfFormat(`${folder}/`, '*/*', below.sort())
}

export const PICTURE = new RegExp(`\\.(${IMAGE_EXTENSIONS.join('|')})$`, 'i')

function namesBelow(folder: string, entries: readonly Dirent[]): string[] {
  return entries
    .filter(entry => entry.isDirectory() && formatOf(entry.name) === undefined)
    .slice(0, SUBFOLDERS)
    .flatMap(({ name }) => readdirSync(`${folder}/${name}`).map(file => `${name}/${file}`))
}

/** How many files of each format lie in a local folder and all folders below it, where they are of several. */
export function formatsIn(folder: string): Record<string, number> | undefined {
  const counts: Record<string, number> = {}
  const look = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const format = PICTURE.test(entry.name) ? 'picture' : formatOf(entry.name)
      if (format !== undefined) counts[format] = (counts[format] ?? 0) + 1
      else if (entry.isDirectory()) look(`${folder}/${entry.name}`)
    }
  }
  look(folder)
  return Object.keys(counts).length > 1 ? counts : undefined
}

/** Files of the first format that is there, as patterns below a folder's name, which ends with a slash. */
export function filesOfFormat(folder: string, any: string, names: readonly string[]): SourceJson | undefined {
  for (const { name: format, finds } of allFormats()) {
    if (!finds?.many) continue
    const found = names.filter(name => formatOf(name) === format)
    if (found.length === 0) continue
    const ends = new Set(found.map(name => formatEnd(name)))
    const patterns = [...ends].map(end => `${folder}${any}${end}`)
    return sourceOf(format, patterns.length === 1 ? patterns[0] : patterns)
  }
  return undefined
}

/** The source of a local file, or of those of a pattern, whose names say nothing: by the first bytes of the first. */
export async function sourceByStart(path: string, stores: Stores): Promise<SourceJson | undefined> {
  const words = { source: 'files', what: 'file' }
  const found = await expandPattern(path, resolveName(process.cwd(), path), stores, words).catch(() => [])
  if (found.length === 0) return undefined
  const start = await startOf(found[0].file, stores).catch(() => Buffer.alloc(0))
  const known = formatByStart(start)
  return known === undefined ? undefined : sourceOf(known, path)
}
