/**
 * Finds token files: by path, by pattern, by folder, or by what the names of a .bin and its .idx begin with. With a .bin comes the .idx beside
 * it, with a .npy the .csv.gz.
 */
import { existsSync, statSync } from 'node:fs'
import { SourceError } from '../../../core/basics/errors.js'
import { inParallel } from '../../../core/basics/parallel.js'
import {
  type DataFile,
  describeFiles,
  expandPattern,
  type NamedFile,
  patternsOf,
} from '../../../core/source/find/data-files.js'
import { isGlob } from '../../../core/source/find/glob.js'
import { resolveName } from '../../../core/source/find/names.js'
import { ASKED_AT_ONCE, statOf } from '../../../core/store/access.js'
import { codeOf, type Stat } from '../../../core/store/store.js'
import { type Stores, schemeOf } from '../../../core/store/stores.js'
import type { Found, TokenFileOptions } from './found.js'
import { indexPath } from './megatron.js'

const WORDS = { source: 'tokens', what: 'token file', folderHint: 'name its files, as in "folder/*.bin"' }

export async function findTokenFiles(
  spec: string | readonly string[],
  root: string,
  stores: Stores,
  { format }: TokenFileOptions,
): Promise<Found[]> {
  const named: NamedFile[] = []
  for (const given of patternsOf(spec)) {
    const pattern = inFolder(given, root)
    const files = await expandPattern(pattern, resolveName(root, pattern), stores, WORDS)
    named.push(...unique(isGlob(pattern) ? withTokens(files, pattern) : files))
  }
  const existing = await inParallel(named, ASKED_AT_ONCE, one => withEnding(one, stores))
  const described = await describeFiles(existing, stores, WORDS)
  const names = stems(described)
  return inParallel(described, ASKED_AT_ONCE, async (one, i) => {
    const { file, bytes, version } = one
    const found = { file, bytes, version, name: names[i] }
    const asked = (format ?? 'megatron') === 'megatron' && !file.endsWith('.npy')
    const index = asked ? await beside(indexPath(file), stores) : undefined
    const borders = file.endsWith('.npy') ? await beside(`${file.slice(0, -4)}.csv.gz`, stores) : undefined
    return { ...found, ...(index && { index }), ...(borders && { borders }) }
  })
}

/** A folder here means all files in it, unless a file has that name with an ending. */
function inFolder(pattern: string, root: string): string {
  const path = resolveName(root, pattern)
  if (isGlob(pattern) || schemeOf(path) !== undefined) return pattern
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return pattern
  if (['.bin', '.npy'].some(ending => existsSync(path + ending))) return pattern
  return `${pattern.replace(/\/+$/, '')}/*`
}

/** Of what a pattern matches: the files with tokens. Where it matches none by their names, all of it. */
function withTokens(files: readonly NamedFile[], pattern: string): NamedFile[] {
  const tokens = files.filter(({ file }) => /\.(bin|npy|idx)$/.test(file))
  const others = files.filter(({ file }) => !/\.(csv\.gz|csv|json|txt|md|dsc)$/.test(file))
  const chosen = tokens.length > 0 ? tokens : others
  if (chosen.length === 0) {
    throw new SourceError(
      `tokens: of the ${files.length} files that match "${pattern}" none has tokens by its name (.bin, .npy): correct the pattern`,
    )
  }
  return chosen
}

/** A pattern matches a .bin and its .idx: they are one file of tokens. */
function unique(files: readonly NamedFile[]): NamedFile[] {
  const all = new Map<string, NamedFile>()
  for (const one of files) {
    const file = one.file.replace(/\.idx$/, '.bin')
    // What is known of the .idx is not known of the .bin.
    const known = file === one.file ? one : { file, pattern: one.pattern }
    if (!all.has(file) || file === one.file) all.set(file, known)
  }
  return [...all.values()]
}

/** A name may lack its ending. */
async function withEnding(one: NamedFile, stores: Stores): Promise<NamedFile> {
  if (one.stat !== undefined) return one
  for (const ending of ['', '.bin', '.npy']) {
    const file = one.file + ending
    const stat = await statIfThere(file, stores)
    if (stat !== undefined) return { ...one, file, stat }
  }
  // Neither is there: the error speaks of the name as it was given.
  return one
}

async function statIfThere(file: string, stores: Stores): Promise<Stat | undefined> {
  try {
    return await statOf(stores, file)
  } catch (error) {
    if (['ENOENT', 'EISDIR', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

async function beside(file: string, stores: Stores): Promise<DataFile | undefined> {
  const stat = await statIfThere(file, stores)
  return stat && { file, name: file, ...stat }
}

/** Names without their endings; with them where that would not tell files apart. */
function stems(files: readonly DataFile[]): string[] {
  const short = files.map(({ name }) => name.replace(/\.(bin|npy)(#\d+)?$/, '$2'))
  return new Set(short).size === files.length ? short : files.map(({ name }) => name)
}
