/**
 * Makes the index of a list of files: has the list read (list-lines.ts), and looks for each file: where it lies, how large
 * it is and when it was changed.
 */

import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { isAbsolute, join, normalize, relative, resolve } from 'node:path'
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import { inFile } from '../../core/basics/errors.js'
import { inParallel } from '../../core/basics/parallel.js'
import { commonFolder, folderOf, prefixOf, withoutSlash } from '../../core/source/find/names.js'
import { type ColumnBuilder, NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { type IndexedObject, indexedObject, isSameObject } from '../../core/source/index/indexed-object.js'
import { hashKey } from '../../core/source/index/key-hash.js'
import { type IndexTarget, writeIndex } from '../../core/source/index/write.js'
import type { OpenContext } from '../../core/source/source.js'
import { ASKED_AT_ONCE, type StoreOf, statOf } from '../../core/store/access.js'
import { codeOf, isMissing } from '../../core/store/store.js'
import { schemeOf } from '../../core/store/stores.js'
import { KeySet } from '../shared/key-set.js'
import { oneStore } from '../shared/objects.js'
import { boundName, type Counted, LinkCounter, leadsOut } from '../shared/within.js'
import { hashOf, listText } from '../text-lines.js'
import { BREATH, readLines } from './list-lines.js'
import { openTable } from './table.js'

/** Two changes of a file within this time may leave the same time stamp. In ms. */
const TICK = 50
/** Missing files that are named; the rest is counted. */
const MOST_MISSING = 3

export interface ListWanted {
  /** The list, and the folder that its paths are relative to; absolute. */
  list: string
  root: string
  /** The column that holds the path. */
  path: string
  /** What the files become, where several columns hold paths. */
  as?: string
}

/** A column of the list, and whether all of its cells are numbers. */
export interface ListColumn {
  name: string
  number: boolean
}

export interface ListMeta {
  digest: string
  bytes: number
  spec: string
  list: IndexedObject & { hash: string }
  /** The folder that the names in the index are relative to, from the wanted root on. */
  from: string
  columns: ListColumn[]
  /** Files that are links out of the root. */
  links?: Counted
}

export async function buildListIndex(
  target: IndexTarget,
  wanted: ListWanted,
  spec: string,
  now: IndexedObject,
  context: OpenContext,
  stores: StoreOf,
): Promise<void> {
  const { list } = wanted
  if ('mtimeMs' in now && Math.abs(Date.now() - now.mtimeMs) < TICK) await sleep(TICK)
  const progress = (lines: number): void => context.progress?.(lines, 0, `reading ${list}`, 'lines')
  const text = await listText(stores, list)
  const hash = hashOf(text)
  const { paths, lines, cells } = await readLines(openTable(text), wanted, progress)
  const after = 'version' in now ? indexedObject(await statOf(stores, list)) : now
  if (hashOf(text) !== hash || !isSameObject(after, now)) {
    throw inFile(list, 'was changed while it was read: wait until it is finished')
  }
  const { from, names } = relativeTo(wanted, paths, lines)
  const files = await findFiles(listRoot(wanted.root, from), names, lines, wanted, progress, stores)
  const columns: Record<string, ColumnBuilder> = { ...files.columns }
  const digest = createHash('sha256').update(files.digest)
  for (const [name, { text, numbers }] of cells) {
    columns[`cell.${name}`] = text
    if (numbers !== undefined) columns[`number.${name}`] = numbers
    digest.update(`${JSON.stringify(name)}\n`)
    for (const piece of text.offsets.pieces('f64')) digest.update(piece)
    for (const piece of text.pieces()) digest.update(piece)
  }
  const meta: ListMeta = {
    digest: digest.digest('hex').slice(0, 32),
    bytes: files.bytes,
    spec,
    list: { ...now, hash },
    from,
    columns: [...cells].map(([name, { numbers }]) => ({ name, number: numbers !== undefined })),
    ...(files.links && { links: files.links }),
  }
  writeIndex(target, 'list', names.length, { ...meta }, columns)
}

/**
 * Paths relative to a folder that all of them lie below: the root if they do, otherwise the nearest above them all. None leads out
 * of the root, or the folder of the list.
 */
function relativeTo(
  { list, root }: ListWanted,
  paths: readonly string[],
  lines: readonly number[],
): { from: string; names: string[] } {
  const bounds = { folder: folderOf(list), root }
  const outside: { row: number; file: string }[] = []
  const bound = (path: string, row: number): string => {
    const { file, inside } = boundName(path, bounds, [root, bounds.folder])
    if (!inside) outside.push({ row, file })
    return file
  }
  const check = (): void => {
    if (outside.length === 0) return
    const [{ row }] = outside
    // With another root these would be elsewhere.
    const mixed = paths.some(
      path => !isAbsolute(path) && !path.startsWith('..') && schemeOf(path) === undefined,
    )
    throw leadsOut(
      `${list}, line ${lines[row]}: ${paths[row]}`,
      outside.map(({ file }) => file),
      bounds,
      mixed ? 'write all of its paths relative to one folder, and give that as "root"' : undefined,
    )
  }
  if (schemeOf(root) !== undefined || paths.some(path => schemeOf(path) !== undefined)) {
    const whole = paths.map(bound)
    oneStore(new Set(whole.map(schemeOf)), list)
    check()
    const within = whole.every(name => name.startsWith(prefixOf(root)))
    const common = within ? prefixOf(root) : commonFolder(whole)
    return { from: within ? '' : withoutSlash(common), names: whole.map(name => name.slice(common.length)) }
  }
  let isUp = false
  const names = paths.map((path, row) => {
    const name = isAbsolute(path) ? relative(root, path) : normalize(path)
    if (name !== '..' && !name.startsWith('../')) return name
    const below = relative(root, bound(path, row))
    isUp ||= below.startsWith('../')
    return below
  })
  check()
  if (!isUp) return { from: '', names }
  const whole = names.map(name => resolve(root, name))
  const common = commonFolder(whole)
  return { from: relative(root, common), names: whole.map(file => file.slice(common.length)) }
}

/** The folder that the names in an index are relative to. */
export function listRoot(root: string, from: string): string {
  return schemeOf(from) === undefined && schemeOf(root) === undefined ? join(root, from) : from || root
}

/** What is known of a file; undefined where there is none. */
type Look = { stat: { size: number; mtimeMs: number; version?: string }; isFile: boolean } | undefined

/** Where a line says a path that no file can have: below a file, too long, a loop of links, with a NUL. */
const IMPOSSIBLE = new Set(['ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ERR_INVALID_ARG_VALUE'])

function lookAt(file: string): Look {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat && { stat, isFile: stat.isFile() }
  } catch (error) {
    if (IMPOSSIBLE.has(codeOf(error) ?? '')) return undefined
    throw inFile(file, `can't be read: ${(error as Error).message}`, { cause: error })
  }
}

/** The same of objects in another store, by name: many are asked for at the same time. */
async function lookAtObjects(
  folder: string,
  names: readonly string[],
  stores: StoreOf,
  progress: (lines: number) => void,
): Promise<Map<string, Look>> {
  const looks = new Map<string, Look>()
  await inParallel([...new Set(names)], ASKED_AT_ONCE, async (name, i) => {
    try {
      const { bytes: size, version } = await statOf(stores, prefixOf(folder) + name)
      looks.set(name, { stat: { size, mtimeMs: 0, version: version as string }, isFile: true })
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    if (i % BREATH === 0) progress(i)
  })
  return looks
}

/** The columns that every list of files has (see FileListSource), and a digest of names and sizes. */
async function findFiles(
  folder: string,
  names: readonly string[],
  lines: readonly number[],
  { list, root, path }: ListWanted,
  progress: (lines: number) => void,
  stores: StoreOf,
): Promise<{ columns: Record<string, ColumnBuilder>; bytes: number; digest: string; links?: Counted }> {
  const numbers = new Map<string, number>()
  const [folders, name] = [new TextBuilder(), new TextBuilder()]
  const [number, size, time] = [new NumberBuilder(), new NumberBuilder(), new NumberBuilder()]
  const version = new TextBuilder()
  const objects =
    schemeOf(folder) === undefined ? undefined : await lookAtObjects(folder, names, stores, progress)
  const repeats = new Repeats(names.length)
  const links = new LinkCounter([root, folderOf(list)])
  const hash = createHash('sha256')
  const missing: string[] = []
  let unhashed = ''
  let missed = 0
  let bytes = 0
  for (let row = 0; row < names.length; row++) {
    const look = objects === undefined ? lookAt(join(folder, names[row])) : objects.get(names[row])
    if (objects === undefined && look !== undefined) links.file(join(folder, names[row]))
    const stat = look?.stat
    if (look?.isFile !== true) {
      const problem = look === undefined ? 'is missing' : 'is no file'
      const file = objects === undefined ? join(folder, names[row]) : prefixOf(folder) + names[row]
      if (missed++ < MOST_MISSING) missing.push(`line ${lines[row]}: ${file} ${problem}`)
    }
    const slash = names[row].lastIndexOf('/') + 1
    const above = names[row].slice(0, slash)
    let at = numbers.get(above)
    if (at === undefined) {
      at = folders.length
      numbers.set(above, at)
      folders.push(above)
    }
    number.push(at)
    name.push(names[row].slice(slash))
    size.push(stat?.size ?? 0)
    if (objects === undefined) time.push(stat?.mtimeMs ?? 0)
    else version.push(stat?.version ?? '')
    bytes += stat?.size ?? 0
    repeats.add(names[row])
    unhashed += `${names[row]}\0${stat?.size}\n`
    if (row % BREATH === 0) {
      hash.update(unhashed)
      unhashed = ''
      progress(row)
      await breathe()
    }
  }
  if (missed > 0) {
    const more = missed > MOST_MISSING ? `, and ${missed - MOST_MISSING} more` : ''
    throw inFile(
      list,
      `, ${missing.join('; ')}${more}. Paths in column "${path}" are relative to the folder of the list, ` +
        'or to "root" where that is given',
    )
  }
  const stamps: Record<string, ColumnBuilder> = objects === undefined ? { time } : { version }
  const columns = { folders, folder: number, name, size, ...stamps, ...repeats.columns() }
  return { columns, bytes, digest: hash.update(unhashed).digest('hex'), links: links.found }
}

/** Counts how often a name came before: a file may stand in several lines. */
class Repeats {
  private readonly seen: KeySet
  private readonly times = new Map<string, number>()
  private readonly numbers = new NumberBuilder()

  constructor(count: number) {
    this.seen = new KeySet(count)
  }

  add(name: string): void {
    const repeat = this.seen.add(hashKey(name)) ? 0 : (this.times.get(name) ?? 0) + 1
    if (repeat > 0) this.times.set(name, repeat)
    this.numbers.push(repeat)
  }

  columns(): Record<string, ColumnBuilder> {
    return this.times.size > 0 ? { repeat: this.numbers } : {}
  }
}
