/**
 * Finds the rows that meet conditions on columns, when a feed is opened. Row groups in which no row can, by the least and
 * greatest values in the footer, are not read; nor are parts of large ones, by those of their pages.
 */
import { DecodeError, SourceError } from '../../core/basics/errors.js'
import { lastAtMost } from '../../core/basics/search.js'
import type { ConditionJson, WhereJson } from '../../core/define/types.js'
import {
  columnsIn,
  compileCondition,
  compileWhere,
  conjuncts,
  type Truth,
  truthOfNone,
} from '../../core/source/combine/condition.js'
import { RowCollector, type Selection } from '../../core/source/combine/selected.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import { RowReader } from '../../core/source/row-reader.js'
import type { Column, Columns, OnProgress } from '../../core/source/source.js'
import { readRange } from '../../core/store/access.js'
import { Reader } from '../../core/store/reader.js'
import type { Stores } from '../../core/store/stores.js'
import { leafOf } from './columns.js'
import type { ParquetFile } from './file.js'
import { formOf } from './form.js'
import type { ParquetSource } from './parquet-source.js'
import { type Footer, parseFooter, readFooterBytes } from './structure/footer.js'
import { readOffsetIndex } from './structure/pages.js'
import type { ParquetLeaf } from './structure/schema.js'
import { Thrift } from './structure/thrift.js'

type Sample = Readonly<Columns>

export async function selectRows(
  source: ParquetSource,
  where: WhereJson,
  stores: Stores,
  progress?: OnProgress,
): Promise<Selection> {
  const columns = columnsIn(where).filter(name => source.ofFolders(name) === undefined)
  const sure = conjuncts(where)
  const rows = new RowCollector(source.count)
  const reader = new RowReader(source, new Reader(stores))
  for (const {
    file,
    rows: [first, end],
    units,
  } of source.eachFile()) {
    // Rows of a file that lacks a column which others have are rows without a value.
    const lacks = (name: string): boolean => leafOf(file.leaves, name) < 0 && source.columns.includes(name)
    // The same for all rows of the file, and known without reading it; undefined: that of a column in it.
    const known = (name: string, condition: ConditionJson): { truth: Truth } | undefined => {
      const reported = source.ofFolders(name)
      if (reported !== undefined)
        return { truth: compileCondition(condition, reported, name)(reported.at(first)) }
      return lacks(name) ? { truth: truthOfNone(condition) } : undefined
    }
    const unsure = sure.filter(([name, condition]) => known(name, condition)?.truth !== true)
    if (first === end || unsure.some(([name, condition]) => known(name, condition) !== undefined)) continue
    const holds = compileWhere<Sample>(where, (name, condition) => {
      const fixed = known(name, condition)
      if (fixed !== undefined) return () => fixed.truth
      const test = testOf(file, name, condition)
      return sample => test(comparedOf(sample[name]))
    })
    const arePossible = await possibleRows(file, unsure, stores)
    for (let unit = units[0]; unit < units[1]; unit++) {
      const start = source.unitStarts[unit]
      progress?.(start, source.count, 'selecting rows of Parquet files', 'rows')
      const end = source.unitStarts[unit + 1] ?? source.count
      if (!(await arePossible(start - first, end - first))) continue
      for (let row = start; row < end; row++) {
        const read = reader.read(row, columns)
        const { sample } = read instanceof Promise ? await read : read
        if (holds(sample) === true) rows.add(row)
      }
    }
  }
  return rows.finish()
}

/** What is compared of a column; undefined: there is no value. */
function comparedOf(value: Column | undefined): Compared {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  return typeof value === 'object' ? undefined : value
}

type Compared = number | bigint | string | undefined

function testOf(
  { leaves, manifest, columns }: ParquetFile,
  name: string,
  condition: ConditionJson,
): (value: Compared) => Truth {
  const leaf = leaves[leafOf(leaves, name)]
  const form = leaf && formOf(leaf)
  const { file } = manifest
  if (form === undefined)
    throw new SourceError(`where: ${file} has no column "${name}"; it has ${columns.join(', ')}`, { file })
  if (typeof form === 'string' || leaf.repetition > 0 || form.items === 'bytes')
    throw new SourceError(
      `where: column "${name}" of ${file} holds no numbers or texts that can be compared`,
      { file },
    )
  // A bound with more digits than a number has is a text: all integers are then compared as they are.
  const digits = /[iu]64/.test(form.items) && boundsOf(condition).some(isText)
  const holds = compileCondition(
    condition,
    { type: digits || form.items === 'text' ? 'string' : 'number', digits },
    name,
  )
  return digits ? holds : value => holds(typeof value === 'bigint' ? Number(value) : value)
}

function boundsOf(condition: ConditionJson): readonly unknown[] {
  return typeof condition === 'object' && condition !== null ? Object.values(condition) : [condition]
}

const isText = (bound: unknown): boolean => typeof bound === 'string'

/**
 * Whether some rows of the file may be wanted: those of a unit. Row groups are judged by their statistics, their parts by those
 * of pages, where the file has an index of these.
 */
async function possibleRows(
  file: ParquetFile,
  sure: readonly [name: string, condition: ConditionJson][],
  stores: Stores,
): Promise<(from: number, to: number) => Promise<boolean>> {
  if (sure.length === 0) return async () => true
  const { file: name, bytes, was } = file.place
  const read: ReadAt = async (into, offset) => {
    await readRange(stores, { file: name, offset, length: into.length, was }, into)
    return into.length
  }
  const { leaves } = file
  const conditions = sure.map(([column, one]) => [leafOf(leaves, column), one] as const)
  const impossible = new Set<number>()
  const footer = parseFooter(await readFooterBytes(read, bytes, name), bytes, name, (group, leaf, found) => {
    for (const [one, condition] of conditions)
      if (one === leaf && !mayMatch(leaves[leaf], condition, found)) impossible.add(group)
  })
  const { groupRows, emptyGroups } = footer
  if (emptyGroups > 0) return async () => true // their numbers are not those of the groups that are left
  const starts = new Float64Array(groupRows.length)
  for (let group = 1; group < starts.length; group++)
    starts[group] = starts[group - 1] + groupRows.at(group - 1)
  if (starts.length === 0) throw new DecodeError(`${name} has no row groups`)
  const pages = new PagesOfGroups(footer, read)
  return async (from, to) => {
    const group = lastAtMost(starts, from)
    if (impossible.has(group)) return false
    if (to - from === groupRows.at(group)) return true
    for (const [leaf, condition] of conditions) {
      const found = await pages.of(group, leaf)
      const may = ({ bounds }: PageBounds): boolean =>
        bounds !== undefined && mayMatch(leaves[leaf], condition, bounds)
      const inGroup = (page: PageBounds): boolean =>
        page.from < to - starts[group] && page.to > from - starts[group]
      if (found !== undefined && !found.some(page => inGroup(page) && may(page))) return false
    }
    return true
  }
}

/** The bounds of pages, of the row group that was asked for last. */
class PagesOfGroups {
  private group = -1
  private readonly found = new Map<number, PageBounds[] | undefined>()

  constructor(
    private readonly footer: Footer,
    private readonly read: ReadAt,
  ) {}

  async of(group: number, leaf: number): Promise<PageBounds[] | undefined> {
    if (group !== this.group) this.found.clear()
    this.group = group
    if (!this.found.has(leaf)) this.found.set(leaf, await this.bounds(group, leaf))
    return this.found.get(leaf)
  }

  private async bounds(group: number, leaf: number): Promise<PageBounds[] | undefined> {
    const { chunks, leaves, groupRows } = this.footer
    const at = group * leaves.length + leaf
    const indexes = {
      pagesAt: chunks.pagesAt.at(at),
      pagesLength: chunks.pagesLength.at(at),
      boundsAt: chunks.boundsAt.at(at),
      boundsLength: chunks.boundsLength.at(at),
    }
    try {
      return await readPageBounds(indexes, groupRows.at(group), this.read)
    } catch (error) {
      // A damaged index says nothing.
      if (error instanceof DecodeError) return undefined
      throw error
    }
  }
}

type Bound = number | string | boolean | null

/** False only where no value can meet the condition. Statistics that are missing, or not understood, say nothing. */
export function mayMatch(
  leaf: ParquetLeaf,
  condition: ConditionJson,
  { min, max }: { min?: Uint8Array; max?: Uint8Array },
): boolean {
  if (min === undefined || max === undefined) return true
  const form = formOf(leaf)
  if (typeof form === 'string' || form.change === 'decimal' || form.change === 'int96' || leaf.repetition > 0)
    return true
  if (form.items === 'text') return textMayMatch(condition, min, max)
  const [least, most] = [numberOf(leaf, min), numberOf(leaf, max)]
  if (least === undefined || most === undefined || !(least <= most)) return true
  const isInside = (bound: Bound): boolean =>
    bound === null || typeof bound === 'string' || (Number(bound) >= least && Number(bound) <= most)
  if (Array.isArray(condition)) return condition.some(isInside)
  if (condition === null || typeof condition !== 'object') return isInside(condition)
  return Object.entries(condition).every(([sign, given]) => {
    if (given === null || typeof given === 'string') return true
    const bound = Number(given)
    if (sign === '>') return most > bound
    if (sign === '>=') return most >= bound
    if (sign === '<') return least < bound
    if (sign === '<=') return least <= bound
    return sign !== '=' || isInside(bound)
  })
}

/** Texts are ordered by their bytes here, and by UTF-16 where conditions are tested: only equal ones are looked for. */
function textMayMatch(condition: ConditionJson, min: Uint8Array, max: Uint8Array): boolean {
  const isInside = (bound: Bound): boolean => {
    if (bound === null) return true
    const bytes = Buffer.from(String(bound))
    return Buffer.compare(bytes, min) >= 0 && Buffer.compare(bytes, max) <= 0
  }
  if (Array.isArray(condition)) return condition.some(isInside)
  if (condition === null || typeof condition !== 'object') return isInside(condition)
  return condition['='] === undefined || isInside(condition['='])
}

/** A value of the statistics: PLAIN, in little-endian. */
function numberOf({ physical, logical }: ParquetLeaf, bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const isUnsigned = logical?.kind === 'integer' && logical.signed === false
  if (physical === 'INT32' && bytes.length === 4)
    return isUnsigned ? view.getUint32(0, true) : view.getInt32(0, true)
  if (physical === 'INT64' && bytes.length === 8)
    return Number(isUnsigned ? view.getBigUint64(0, true) : view.getBigInt64(0, true))
  if (physical === 'FLOAT' && bytes.length === 4) return view.getFloat32(0, true)
  if (physical === 'DOUBLE' && bytes.length === 8) return view.getFloat64(0, true)
  return physical === 'BOOLEAN' && bytes.length === 1 ? bytes[0] : undefined
}

/** Where the two indexes of a chunk's pages lie: offsets and bounds. A length of 0: there is none. */
export interface PageIndexes {
  pagesAt: number
  pagesLength: number
  boundsAt: number
  boundsLength: number
}

/** One page: the rows that it has, counted in its row group, and its bounds; none where all of its values are null. */
interface PageBounds {
  from: number
  to: number
  bounds?: { min: Uint8Array; max: Uint8Array }
}

/** The pages of a chunk without lists, in a row group of so many rows; undefined where the file does not tell. */
export async function readPageBounds(
  { pagesAt, pagesLength, boundsAt, boundsLength }: PageIndexes,
  rows: number,
  read: ReadAt,
): Promise<PageBounds[] | undefined> {
  if (pagesLength === 0 || boundsLength === 0) return undefined
  const starts = [...(await readOffsetIndex({ pagesAt, pagesLength }, read)).values(), rows]
  const bytes = Buffer.allocUnsafe(boundsLength)
  await read(bytes, boundsAt)
  const { nulls, min, max } = parseBounds(bytes)
  const count = starts.length - 1
  const isWhole = starts[0] === 0 && starts.every((row, i) => i === 0 || row > starts[i - 1])
  if (!isWhole || [nulls, min, max].some(list => list.length !== count)) return undefined
  return nulls.map((isNull, i) => ({
    from: starts[i],
    to: starts[i + 1],
    ...(!isNull && { bounds: { min: min[i], max: max[i] } }),
  }))
}

function parseBounds(bytes: Uint8Array): { nulls: boolean[]; min: Uint8Array[]; max: Uint8Array[] } {
  const thrift = new Thrift(bytes)
  const nulls: boolean[] = []
  const min: Uint8Array[] = []
  const max: Uint8Array[] = []
  const outer = thrift.enter()
  for (let id = thrift.field(); id !== 0; id = thrift.field()) {
    if (id < 1 || id > 3) {
      thrift.skip()
      continue
    }
    const count = thrift.list()
    for (let i = 0; i < count; i++) {
      if (id === 1) nulls.push(thrift.element())
      else (id === 2 ? min : max).push(thrift.binary())
    }
  }
  thrift.leave(outer)
  return { nulls, min, max }
}
