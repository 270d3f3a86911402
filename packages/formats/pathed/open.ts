/**
 * Looks up the files that the paths of a table lead to, once: names, sizes and times, in an index. A path is relative to the folder of
 * the table's file, and leads out of neither this nor the root that the definition gives (shared/within.ts).
 */
import { createHash } from 'node:crypto'
import { isAbsolute } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { inParallel } from '../../core/basics/parallel.js'
import { commonFolder, folderOf, prefixOf, resolveFolder } from '../../core/source/find/names.js'
import { type ColumnBuilder, NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { wrongLength } from '../../core/source/index/of-file.js'
import { type IndexFound, obtainIndex } from '../../core/source/index/place.js'
import { type IndexTarget, writeIndex } from '../../core/source/index/write.js'
import { RowReader } from '../../core/source/row-reader.js'
import type { IndexColumn, Manifest, Nesting, OpenContext, Source } from '../../core/source/source.js'
import { withValues } from '../../core/source/values/open.js'
import { ASKED_AT_ONCE, statOf } from '../../core/store/access.js'
import type { LocalVersion } from '../../core/store/identity.js'
import { Reader } from '../../core/store/reader.js'
import { isMissing } from '../../core/store/store.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { boundName, type Counted, isCounted, LinkCounter, tellOfLinks } from '../shared/within.js'
import { MISSING, NO_PATH, OUTSIDE, type PathedColumn, type PathedManifest } from './pathed.js'

const KIND = 'paths'

/** The table with the files of those wanted columns whose rows have paths that lead to some. `json` is its definition. */
export async function withFiles(
  json: unknown,
  child: Manifest,
  context: OpenContext,
  { attach }: Nesting,
): Promise<Manifest> {
  const source = attach(child)
  if (!context.wanted.some(name => source.columns.includes(`${name}.path`))) return child
  using stores = new Stores()
  const given = (json as { root?: string }).root
  const root = given === undefined ? undefined : resolveFolder(context.root, given)
  if (root !== undefined && schemeOf(root) !== schemeOf(source.where?.(0)?.file ?? ''))
    throw new SourceError(
      `"root": ${root} is in another store than the table: files lie in that of the table`,
    )
  const pathed: PathedColumn[] = []
  for (const name of context.wanted) {
    if (!source.columns.includes(name) || !(await leadsSomewhere(source, name, root, stores))) continue
    const valued = await withValues(json, child, source, [`${name}.path`], context)
    const paths = attach(valued).index(`${name}.path`)
    if (paths === undefined) continue
    const of = digestOf([child.fingerprint.digest, child.stamp, ...(root === undefined ? [] : [root])])
    const table: Table = { source, name, paths, root, of }
    const { path, header } = await filesOf(table, digestOf([name, json]).slice(0, 12), context, stores)
    const { links, elsewhere } = header.meta as Partial<Reported>
    tellOfLinks(`the files of column "${name}"`, isCounted(links) ? links : undefined, context.notice)
    pathed.push({
      name,
      path,
      checksum: header.checksum,
      ...(root !== undefined && { root }),
      ...(typeof elsewhere === 'string' && { elsewhere }),
    })
  }
  if (pathed.length === 0) return child
  const { fingerprint, stamp, content, indexBytes } = child
  const manifest: PathedManifest = {
    kind: 'pathed',
    fingerprint,
    stamp: digestOf([stamp, pathed.map(({ checksum }) => checksum)]),
    ...(content !== undefined && { content }),
    indexBytes,
    child,
    pathed,
  }
  return manifest
}

/** A column of a table, its paths, and what the table is. */
interface Table {
  source: Source
  name: string
  paths: IndexColumn
  root: string | undefined
  of: string
}

/** What the index tells besides its rows. */
interface Reported {
  /** Files that are links out of the folder of the table and the root. */
  links: Counted
  /** The folder in which all files lie that rows may not name. */
  elsewhere: string
}

function filesOf(
  table: Table,
  hash: string,
  { check, notice, progress }: OpenContext,
  stores: Stores,
): Promise<IndexFound> {
  const { source, name, of } = table
  return obtainIndex({
    data: `${source.where?.(0)?.file}#${hash}`,
    problem: header => {
      const { count, kind, meta, columns } = header
      if (kind !== KIND || meta.of !== of || count !== source.count) return 'the table is another one'
      if ((meta.missing as string[]).some(file => isThere(stores, file))) return 'files have appeared'
      const last = columns.time === undefined ? 'version' : 'time'
      return wrongLength(
        header,
        ['size', 'file', last].map(name => [name, count] as const),
      )
    },
    doubted: check !== undefined,
    notice,
    build: target =>
      build(target, table, stores, row =>
        progress?.(row, source.count, `looking for the files of ${name}`, 'files'),
      ),
  })
}

/** Whether there is a local file of this name by now. */
function isThere(stores: Stores, file: string): boolean {
  try {
    return stores.of(file).statNow?.(file) !== undefined
  } catch {
    return false
  }
}

/**
 * Whether the path of the first, the middle or the last row is that of a file, or leads out although the row has no bytes. Names of
 * pictures that are in the table are none.
 */
async function leadsSomewhere(
  source: Source,
  name: string,
  root: string | undefined,
  stores: Stores,
): Promise<boolean> {
  const column = `${name}.path`
  if (!source.columns.includes(column)) return false
  const reader = new RowReader(source, new Reader(stores))
  for (const row of new Set([0, source.count >> 1, source.count - 1])) {
    const { sample } = await reader.read(row, [name, column])
    const value = sample[column]
    if (value === undefined || typeof value === 'number' || typeof value === 'bigint') continue
    const path = typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString()
    const { file, inside } = fileAt(source, row, path, root)
    if (inside ? (await sizeAndTime(stores, file)) !== undefined : sample[name] === undefined) return true
  }
  return false
}

/** The file that a path leads to, and whether it may. */
function fileAt(
  source: Source,
  row: number,
  path: string,
  root: string | undefined,
): { file: string; inside: boolean } {
  const folder = folderOf(source.where?.(row)?.file ?? '')
  const elsewhere = { file: path, inside: false }
  // A home is elsewhere, and so is another store, unless it is the root's.
  if (folder === '' || path === '' || path.includes('\0') || /^~|^file:|::/.test(path)) return elsewhere
  if (path.includes('://') && (root === undefined || !path.startsWith(prefixOf(root)))) return elsewhere
  // In another store a path that begins with a slash is no name of an object.
  if (path.startsWith('/') && schemeOf(folder) !== undefined) return elsewhere
  return boundName(path, { folder, root })
}

async function sizeAndTime(
  stores: Stores,
  file: string,
): Promise<{ size: number; time: number; version: string } | undefined> {
  try {
    const { bytes, version } = await statOf(stores, file)
    if (typeof version === 'string') return { size: bytes, time: 0, version }
    return { size: bytes, time: (version as LocalVersion).mtimeMs, version: '' }
  } catch (error) {
    if (isMissing(error) || error instanceof SourceError) return undefined
    throw error
  }
}

/** Files that were missing, of which the index keeps the names: when it is used again, it is looked whether they are there. */
const LOOKED_FOR = 64

/** Rows that are looked up together. */
const BLOCK = 4096

async function build(
  target: IndexTarget,
  { source, paths, root, of }: Table,
  stores: Stores,
  tell: (row: number) => void,
): Promise<void> {
  const missing: string[] = []
  const [size, time] = [new NumberBuilder(), new NumberBuilder()]
  const [file, version] = [new TextBuilder(), new TextBuilder()]
  const folder = folderOf(source.where?.(0)?.file ?? '')
  const isLocal = schemeOf(folder) === undefined
  const links = new LinkCounter(root === undefined ? [folder] : [root, folder])
  let elsewhere: string | undefined
  for (let first = 0; first < source.count; first += BLOCK) {
    tell(first)
    const rows = Array.from({ length: Math.min(BLOCK, source.count - first) }, (_, i) => first + i)
    const found = await inParallel(rows, ASKED_AT_ONCE, async row => {
      const path = paths.at(row)
      if (path === undefined) return { size: NO_PATH, name: '' }
      const { file: name, inside } = fileAt(source, row, String(path), root)
      if (!inside) return { size: OUTSIDE, name }
      return { size: MISSING, name, ...(await sizeAndTime(stores, name)) }
    })
    for (const one of found) {
      if (one.size === MISSING && missing.length < LOOKED_FOR) missing.push(one.name)
      if (one.size === OUTSIDE && isAbsolute(one.name))
        elsewhere = commonFolder(elsewhere === undefined ? [one.name] : [`${elsewhere}.`, one.name])
      if (one.size >= 0 && isLocal) links.file(one.name)
      size.push(one.size)
      file.push(one.name)
      time.push(('time' in one && one.time) || 0)
      version.push(('version' in one && one.version) || '')
    }
  }
  const columns: Record<string, ColumnBuilder> = { size, file, ...(isLocal ? { time } : { version }) }
  const reported = { ...(links.found && { links: links.found }), ...(elsewhere && { elsewhere }) }
  writeIndex(target, KIND, source.count, { of, missing, ...reported }, columns)
}

function digestOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
