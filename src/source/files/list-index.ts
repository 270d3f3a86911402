/**
 * The index of a list of files: the list's cells by column, and where each file lies, how large it is and when it was
 * changed. It is good as long as the list has the contents that it was made from.
 */
import { createHash } from 'node:crypto'
import { closeSync, readSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, normalize, relative, resolve } from 'node:path'
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import { nearest, SourceError } from '../../basics/errors.js'
import { openRegular } from '../../system/files/regular.js'
import { type ColumnBuilder, NumberBuilder, TextBuilder } from '../index/columns.js'
import { IndexFile, type IndexHeader, type IndexTarget, writeIndex } from '../index/file.js'
import { hashKey } from '../index/key-hash.js'
import { KeySet } from '../index/key-set.js'
import { obtainIndex } from '../index/place.js'
import type { OpenContext } from '../source.js'
import { commonFolder } from '../tar/paths.js'
import { numberIn } from '../tar/samples.js'
import { changedFile, type FileList, lookedAt, shortHash } from './file-list.js'
import { openTable, type Table } from './table.js'

/** Lines after which other work of this thread gets its turn, and progress is told. */
const BREATH = 4096
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
  list: Identity & { hash: string }
  /** The folder that the names in the index are relative to, from the wanted root on. */
  from: string
  columns: ListColumn[]
}

interface Identity {
  size: number
  mtimeMs: number
  ctimeMs: number
  ino: number
}

export async function obtainListIndex(wanted: ListWanted, context: OpenContext): Promise<FileList> {
  const { list, root, path } = wanted
  const now = identityOf(list)
  const spec = JSON.stringify([path, relative(dirname(list), root)])
  const found = await obtainIndex({
    data: `${list}-${shortHash(spec)}`,
    beside: join(dirname(list), `.${basename(list)}-${shortHash(spec)}.millrace`),
    problem: (header, file) =>
      malformed(header, spec) ??
      staleness(header, list, now) ??
      changedFile(
        new IndexFile(file, false, header),
        join(root, (header.meta as unknown as ListMeta).from),
        lookedAt(header.count, context),
      ),
    notice: context.notice,
    doubted: context.check === 'nothing',
    build: target => build(target, wanted, spec, now, context),
  })
  return { ...found, checked: lookedAt(found.header.count, context) === found.header.count }
}

function identityOf(list: string): Identity {
  const stat = statSync(list, { throwIfNoEntry: false })
  if (stat?.isFile() !== true) {
    const problem = stat === undefined ? 'is missing' : 'is no file'
    throw new SourceError(`the list ${list} ${problem}: check "list" of the source "files"`, { file: list })
  }
  const { size, mtimeMs, ctimeMs, ino } = stat
  return { size, mtimeMs, ctimeMs, ino }
}

/** What an index of a list must have, whatever its checksums say. */
function malformed({ kind, count, columns, meta }: IndexHeader, spec: string): string | undefined {
  if (kind !== 'list') return `it is an index of "${kind}"`
  const { digest, bytes, spec: made, list, from, columns: cells } = meta as Partial<ListMeta>
  if (made !== spec) return 'it was made for another column or folder'
  const told = typeof digest === 'string' && typeof bytes === 'number' && typeof from === 'string'
  if (!told || typeof list !== 'object' || !Array.isArray(cells))
    return 'it is malformed: what it tells of the list'
  const names = cells.flatMap(({ name, number }) => [`cell.${name}`, ...(number ? [`number.${name}`] : [])])
  if (columns.repeat !== undefined) names.push('repeat')
  const whole = ['folder', 'name', 'size', 'time', ...names].every(name => columns[name]?.length === count)
  return whole && columns.folders !== undefined ? undefined : 'it is malformed: the lengths of its columns'
}

function staleness(header: IndexHeader, list: string, now: Identity): string | undefined {
  const { list: was } = header.meta as unknown as ListMeta
  const same = (['size', 'mtimeMs', 'ctimeMs', 'ino'] as const).every(name => was[name] === now[name])
  // A list that was copied or written again with the same contents says the same.
  return same || (was.size === now.size && was.hash === hashOf(list))
    ? undefined
    : 'the list was changed after the index was made'
}

function hashOf(file: string): string {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(1 << 20)
  const { fd } = openRegular(file)
  try {
    for (let got = 1; got > 0; ) {
      got = readSync(fd, buffer, 0, buffer.length, null)
      hash.update(buffer.subarray(0, got))
    }
  } finally {
    closeSync(fd)
  }
  return hash.digest('hex').slice(0, 32)
}

async function build(
  target: IndexTarget,
  wanted: ListWanted,
  spec: string,
  now: Identity,
  context: OpenContext,
): Promise<void> {
  const { list } = wanted
  if (Math.abs(Date.now() - now.mtimeMs) < TICK) await sleep(TICK)
  const progress = (lines: number): void => context.progress?.(lines, 0, `reading ${list}`, 'lines')
  const hash = hashOf(list)
  const { paths, lines, cells } = await readLines(openTable(list), wanted, progress)
  if (hashOf(list) !== hash) {
    throw new SourceError(`${list} was changed while it was read: wait until it is finished`, { file: list })
  }
  const { from, names } = relativeTo(wanted.root, paths)
  const files = await findFiles(join(wanted.root, from), names, lines, wanted, progress)
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
  }
  writeIndex(target, 'list', names.length, { ...meta }, columns)
}

/** The cells of a column, as text and, as long as all of them are, as numbers. */
class Cells {
  readonly text = new TextBuilder()
  private values: NumberBuilder | undefined = new NumberBuilder()
  private some = false

  push(row: number, cell: string): void {
    this.fill(row)
    this.text.push(cell)
    if (this.values === undefined) return
    const number = cell.trim() === '' ? Number.NaN : numberIn(cell)
    if (number === undefined) this.values = undefined
    else this.values.push(number)
    if (!Number.isNaN(number)) this.some = true
  }

  /** Empty cells up to a row. */
  fill(row: number): void {
    this.text.padTo(row)
    while (this.values !== undefined && this.values.length < row) this.values.push(Number.NaN)
  }

  /** Undefined where the cells are text, or all empty. */
  get numbers(): NumberBuilder | undefined {
    return this.some ? this.values : undefined
  }
}

async function readLines(
  table: Table,
  { list, path }: ListWanted,
  progress: (lines: number) => void,
): Promise<{ paths: string[]; lines: number[]; cells: Map<string, Cells> }> {
  const cells = new Map<string, Cells>()
  const paths: string[] = []
  const lines: number[] = []
  for (const { line, cells: found } of table.lines()) {
    const row = paths.length
    let file = ''
    for (let i = 0; i < found.length; i++) {
      const name = table.names[i]
      if (name === path) {
        file = found[i]
        continue
      }
      let column = cells.get(name)
      if (column === undefined) {
        column = new Cells()
        cells.set(name, column)
      }
      column.push(row, found[i])
    }
    if (file === '') throw noPath(list, line, path, table.names)
    paths.push(file)
    lines.push(line)
    if (paths.length % BREATH === 0) {
      progress(paths.length)
      await breathe()
    }
  }
  if (paths.length === 0) {
    if (table.names.length > 0 && !table.names.includes(path)) throw noPath(list, 1, path, table.names)
    throw new SourceError(`${list} names no file`, { file: list })
  }
  for (const column of cells.values()) column.fill(paths.length)
  return { paths, lines, cells }
}

function noPath(list: string, line: number, path: string, names: readonly string[]): SourceError {
  if (names.includes(path)) {
    return new SourceError(`${list}, line ${line}: the column "${path}" is empty, it should have a path`, {
      file: list,
    })
  }
  const near = nearest(path, names)
  const usual = names.find(name => /file|path|image|img/i.test(name))
  return new SourceError(
    `${list} has no column "${path}"; it has ${names.join(', ')}. Name the one with the paths of the files: ` +
      `{"files": {"list": …, "path": "${near ?? usual ?? names[0] ?? 'file'}"}}`,
    { file: list },
  )
}

/** Paths relative to a folder that all of them lie below: the root if they do, otherwise the nearest above them all. */
function relativeTo(root: string, paths: readonly string[]): { from: string; names: string[] } {
  const names = paths.map(path => (isAbsolute(path) ? relative(root, path) : normalize(path)))
  if (!names.some(name => name.startsWith('../'))) return { from: '', names }
  const whole = names.map(name => resolve(root, name))
  const common = commonFolder(whole)
  return { from: relative(root, common), names: whole.map(file => file.slice(common.length)) }
}

/** The columns that every list of files has (see FileListSource), and a digest of names and sizes. */
async function findFiles(
  folder: string,
  names: readonly string[],
  lines: readonly number[],
  { list, path }: ListWanted,
  progress: (lines: number) => void,
): Promise<{ columns: Record<string, ColumnBuilder>; bytes: number; digest: string }> {
  const numbers = new Map<string, number>()
  const [folders, name] = [new TextBuilder(), new TextBuilder()]
  const [number, size, time] = [new NumberBuilder(), new NumberBuilder(), new NumberBuilder()]
  const repeats = new Repeats(names.length)
  const hash = createHash('sha256')
  const missing: string[] = []
  let unhashed = ''
  let missed = 0
  let bytes = 0
  for (let row = 0; row < names.length; row++) {
    const file = join(folder, names[row])
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat?.isFile() !== true) {
      const problem = stat === undefined ? 'is missing' : 'is no file'
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
    time.push(stat?.mtimeMs ?? 0)
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
    throw new SourceError(
      `${list}, ${missing.join('; ')}${more}. Paths in column "${path}" are relative to the folder of the list, ` +
        'or to "root" where that is given',
      { file: list },
    )
  }
  const columns = { folders, folder: number, name, size, time, ...repeats.columns() }
  return { columns, bytes, digest: hash.update(unhashed).digest('hex') }
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
