/**
 * The index of files with arrays: one for all files of a source, in the cache folder. It holds where each array lies and of which
 * type it is, so that no header is read twice. It is good as long as the files are the very ones that were read: by name,
 * size and version.
 */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '../../core/basics/parallel.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import type { IndexHeader } from '../../core/source/index/file.js'
import { type IndexFound, obtainIndex } from '../../core/source/index/place.js'
import { type IndexTarget, writeIndex } from '../../core/source/index/write.js'
import type { Layout } from '../../core/source/layout.js'
import type { OpenContext } from '../../core/source/source.js'
import type { LocalVersion } from '../../core/store/identity.js'
import type { Stores } from '../../core/store/stores.js'
import { type ArrayType, hasRanges, type Member, typeName } from './member.js'

/** Files whose headers are read at the same time. */
const READ_AT_ONCE = 32
/** Files whose arrays are kept as objects before they go into the index. */
const KEPT = 1024
/** Types of one column that are looked at for what `inspect` tells. */
const TYPES_SEEN = 1000
/** Two changes of a file within this time may leave the same time stamp. In ms. */
const TICK = 50

/** A kind of files with arrays. */
export interface ArrayFormat {
  kind: string
  /** A file has one array, so all that is in it is asked for. */
  single?: boolean
  /** All arrays of a file, by its header alone. With `check`, checksums that no run compares are compared. */
  read(file: DataFile, stores: Stores, check: boolean): Promise<Member[]>
}

/** What the header of the index tells. */
export interface ArraysMeta {
  /** Of names, sizes and versions of all files. */
  listing: string
  columns: string[]
  layout: Layout
  /** Columns that can't be fed in some file, and why; and those that can be in none. */
  refused: Record<string, string>
  unusable: string[]
  /** Columns whose first axis is not that of the others, in every file: of no use for rows along the axis. */
  aside: string[]
  /** Whether some array is deflated or in Fortran's order: rows along the axis then share its bytes. */
  units: boolean
}

export interface ArraysIndex extends IndexFound {
  meta: ArraysMeta
}

export async function obtainArraysIndex(
  format: ArrayFormat,
  files: readonly DataFile[],
  stores: Stores,
  context: OpenContext,
): Promise<ArraysIndex> {
  const listing = digestOf(files.map(file => `${file.file}\0${file.bytes}\0${versionText(file)}`))
  const found = await obtainIndex({
    data: dataName(files),
    problem: header => malformed(header, format.kind, files.length) ?? changed(header, listing),
    doubted: context.check === 'nothing',
    notice: context.notice,
    build: target => build(format, files, stores, listing, target, context),
  })
  return { ...found, meta: found.header.meta as unknown as ArraysMeta }
}

/** What the index is of, for its name and for messages. */
function dataName(files: readonly DataFile[]): string {
  const [{ file }] = files
  if (files.length === 1) return file
  return `${file}+${files.length - 1}.${digestOf(files.map(one => one.file)).slice(0, 12)}`
}

function digestOf(lines: readonly string[]): string {
  const hash = createHash('sha256')
  for (const line of lines) hash.update(line).update('\n')
  return hash.digest('hex').slice(0, 32)
}

function versionText({ version }: DataFile): string {
  return typeof version === 'string' ? version : `${version.mtimeMs}`
}

function changed({ meta }: IndexHeader, listing: string): string | undefined {
  const same = (meta as unknown as ArraysMeta).listing === listing
  return same ? undefined : 'files were changed after it was made'
}

/** What an index of arrays must have. Right checksums do not show that: another program may have written it. */
function malformed({ kind, columns, meta }: IndexHeader, wanted: string, files: number): string | undefined {
  if (kind !== wanted) return `it is an index of "${kind}"`
  const { columns: names, layout, refused, unusable, aside, listing } = meta as Partial<ArraysMeta>
  if (![names, aside, unusable].every(Array.isArray) || typeof listing !== 'string' || !layout || !refused)
    return 'it is malformed: what it tells of its files'
  const members = columns.at?.length
  const right =
    ['rows', 'file', 'path', 'bytes', columns.time === undefined ? 'version' : 'time'].every(
      name => columns[name]?.length === files,
    ) &&
    columns.start?.length === files + 1 &&
    ['column', 'type', 'at', 'length', 'size', 'skip', 'crc'].every(name => columns[name]?.length === members)
  return right && columns.types !== undefined ? undefined : 'it is malformed: the lengths of its columns'
}

async function build(
  format: ArrayFormat,
  files: readonly DataFile[],
  stores: Stores,
  listing: string,
  target: IndexTarget,
  { progress, check }: OpenContext,
): Promise<void> {
  const now = Date.now()
  const fresh = (version: DataFile['version']): boolean =>
    typeof version !== 'string' && Math.abs(now - (version as LocalVersion).mtimeMs) < TICK
  if (files.some(file => fresh(file.version))) await sleep(TICK)
  const builder = new ArraysBuilder()
  for (let begin = 0; begin < files.length; begin += KEPT) {
    const some = files.slice(begin, begin + KEPT)
    const read = await inParallel(some, READ_AT_ONCE, file => format.read(file, stores, check === 'nothing'))
    for (let i = 0; i < some.length; i++) builder.add(some[i], read[i])
    progress?.(begin + some.length, files.length, `reading headers of ${format.kind} files`, 'files')
  }
  const meta: ArraysMeta = { listing, ...builder.meta(format.kind, files.length) }
  writeIndex(target, format.kind, files.length, { ...meta }, { ...builder.columns })
}

type ArraysColumns = Record<'file' | 'path' | 'types', TextBuilder> &
  Record<
    'bytes' | 'rows' | 'start' | 'column' | 'type' | 'at' | 'length' | 'size' | 'skip' | 'crc',
    NumberBuilder
  > & { time?: NumberBuilder; version?: TextBuilder }

/** Collects the columns of the index, file by file. */
class ArraysBuilder {
  readonly columns: ArraysColumns = {
    file: new TextBuilder(),
    path: new TextBuilder(),
    bytes: new NumberBuilder(),
    rows: new NumberBuilder(),
    start: new NumberBuilder(),
    column: new NumberBuilder(),
    type: new NumberBuilder(),
    at: new NumberBuilder(),
    length: new NumberBuilder(),
    /** Of deflated members; 0 where they are stored. */
    size: new NumberBuilder(),
    /** Of stored members the checksum of their header. */
    skip: new NumberBuilder(),
    /** 0 where a stored member has none. */
    crc: new NumberBuilder(),
    types: new TextBuilder(),
  }
  private readonly names = new Map<string, number>()
  private readonly types = new Map<string, number>()
  private readonly seen = new Map<string, Map<number, SeenType>>()
  private readonly inRows = new Set<string>()
  private units = false

  constructor() {
    this.columns.start.push(0)
  }

  add(file: DataFile, members: readonly Member[]): void {
    const { columns } = this
    const rows = rowsOfMembers(members.map(({ type }) => type))
    columns.file.push(file.name)
    columns.path.push(file.file)
    columns.bytes.push(file.bytes)
    this.stamp(file)
    columns.rows.push(rows)
    for (const { column, type, at, length, deflated, sum } of members) {
      columns.column.push(numberOf(this.names, column))
      const text = JSON.stringify(type)
      const number = numberOf(this.types, text)
      columns.type.push(number)
      if (number === columns.types.length) columns.types.push(text)
      columns.at.push(at)
      columns.length.push(length)
      columns.size.push(deflated?.size ?? 0)
      columns.skip.push(deflated?.skip ?? sum?.header ?? 0)
      columns.crc.push(deflated?.crc ?? sum?.crc ?? 0)
      if (type.shape[0] === rows) this.inRows.add(column)
      if (deflated !== undefined || !hasRanges(type)) this.units = true
      this.see(column, { type, deflated: deflated !== undefined }, number)
    }
    columns.start.push(columns.at.length)
  }

  /** Files have times of change, objects of other stores versions. */
  private stamp({ version }: DataFile): void {
    if (typeof version === 'string') (this.columns.version ??= new TextBuilder()).push(version)
    else (this.columns.time ??= new NumberBuilder()).push(version.mtimeMs)
  }

  private see(column: string, seen: SeenType, number: number): void {
    let types = this.seen.get(column)
    if (types === undefined) this.seen.set(column, (types = new Map()))
    const refused = seen.type.refused !== undefined
    if (types.size < TYPES_SEEN || refused) types.set(2 * number + Number(seen.deflated), seen)
  }

  meta(kind: string, files: number): Omit<ArraysMeta, 'listing'> {
    const columns = [...this.names.keys()]
    const refused: Record<string, string> = {}
    const unusable: string[] = []
    for (const [name, seen] of this.seen) {
      const types = [...seen.values()].map(({ type }) => type)
      const bad = types.find(type => type.refused !== undefined)
      if (bad !== undefined) refused[name] = bad.refused!
      if (types.every(type => type.refused !== undefined)) unusable.push(name)
    }
    const aside = columns.filter(name => !this.inRows.has(name))
    return { columns, refused, unusable, aside, units: this.units, layout: layoutOf(kind, files, this.seen) }
  }
}

function numberOf(numbers: Map<string, number>, name: string): number {
  let number = numbers.get(name)
  if (number === undefined) {
    number = numbers.size
    numbers.set(name, number)
  }
  return number
}

/** The first axis that most arrays share; of several, the longest. −1 where no array has one. */
function rowsOfMembers(types: readonly ArrayType[]): number {
  const votes = new Map<number, number>()
  for (const { shape, refused, raw } of types) {
    if (shape.length === 0 || refused !== undefined || raw) continue
    votes.set(shape[0], (votes.get(shape[0]) ?? 0) + 1)
  }
  let [rows, most] = [-1, 0]
  for (const [length, count] of votes) {
    if (count > most || (count === most && length > rows)) [rows, most] = [length, count]
  }
  return rows
}

/** A type that a column has in some file. */
interface SeenType {
  type: ArrayType
  deflated: boolean
}

/** Types that are named of one column; the others are "…". */
const NAMED = 3

/** The layout of `files` files whose columns have these types. */
function layoutOf(
  kind: string,
  files: number,
  columns: ReadonlyMap<string, ReadonlyMap<number, SeenType>>,
): Layout {
  const all = [...columns].map(([name, types]) => [name, [...types.values()]] as const)
  const deflated = all.flatMap(([name, types]) => {
    if (!types.some(type => type.deflated)) return []
    return types.every(type => type.deflated) ? name : `${name} (in some files)`
  })
  const turned = all
    .filter(([, types]) => types.some(({ type }) => type.bigEndian || type.fortran))
    .map(([name]) => name)
  const slow = deflated.length > 0 ? inflating(deflated) : turned.length > 0 ? turning(turned) : undefined
  return {
    schema: all.map(([name, types]) => ({ name, type: typesName(types.map(({ type }) => type)) })),
    chunks: `${files} ${kind} ${files === 1 ? 'file' : 'files'}, each array in one piece`,
    codecs: deflated.length > 0 ? ['deflate'] : [],
    ...(slow && { slow }),
  }
}

function inflating(columns: readonly string[]): string {
  return (
    `${listed(columns)} ${columns.length === 1 ? 'is' : 'are'} deflated, so all of an array is unpacked to get any of it: ` +
    'numpy.savez instead of savez_compressed makes it one read.'
  )
}

function turning(columns: readonly string[]): string {
  return (
    `${listed(columns)} ${columns.length === 1 ? 'is' : 'are'} big-endian or in Fortran order, and turned element by element: ` +
    'save it little-endian and in C order (numpy.ascontiguousarray).'
  )
}

function listed(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more columns` : ''
  return names.slice(0, NAMED).join(', ') + more
}

/** The types of one column in several files: sides that differ are `n`. */
function typesName(types: readonly ArrayType[]): string {
  const shapes = new Map<string, number[][]>()
  for (const type of types) {
    const shape = [...type.shape, ...(type.inner ?? [])]
    const key = `${typeName(type)}|${shape.length}`
    const of = shapes.get(key)
    if (of === undefined) shapes.set(key, [shape])
    else of.push(shape)
  }
  const names = [...shapes].map(([key, of]) => {
    const sides = of[0].map((n, i) => (of.every(shape => shape[i] === n) ? n : 'n'))
    const [name] = key.split('|')
    return name === 'bytes' ? name : `${name} [${sides.join(', ')}]`
  })
  return names.slice(0, NAMED).join(' or ') + (names.length > NAMED ? ' or …' : '')
}
