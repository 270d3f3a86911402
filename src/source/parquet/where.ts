/**
 * Finds the rows that meet conditions on columns, when a feed is opened. Row groups in which no row can, by the least and
 * greatest values in the footer, are not read.
 */
import { DecodeError, SourceError } from '../../basics/errors.js'
import { lastAtMost } from '../../basics/search.js'
import type { WhereJson } from '../../define/types.js'
import { readRange } from '../../store/access.js'
import { Reader } from '../../store/reader.js'
import type { Stores } from '../../store/stores.js'
import { compileCondition } from '../combine/condition.js'
import { RowCollector, type Selection } from '../combine/selected.js'
import type { ReadAt } from '../index/read-at.js'
import { RowReader } from '../row-reader.js'
import type { Column, OnProgress } from '../source.js'
import { leafOf } from './columns.js'
import type { ParquetFile } from './file.js'
import { formOf } from './form.js'
import type { ParquetSource } from './parquet-source.js'
import { mayMatch } from './statistics.js'
import { parseFooter, readFooterBytes } from './structure/footer.js'

type Holds = (value: number | bigint | string) => boolean

export async function selectRows(
  source: ParquetSource,
  where: WhereJson,
  stores: Stores,
  progress?: OnProgress,
): Promise<Selection> {
  const columns = Object.keys(where)
  const rows = new RowCollector(source.count)
  const reader = new RowReader(source, new Reader(stores))
  for (const { file, row: first, units } of source.eachFile()) {
    if (columns.some(name => leafOf(file.leaves, name) < 0 && source.columns.includes(name))) continue
    const tests = columns.map(name => testOf(file, name, where[name]))
    const isPossible = await possibleGroups(file, where, stores)
    for (let unit = units[0]; unit < units[1]; unit++) {
      const start = source.unitStarts[unit]
      progress?.(start, source.count, 'selecting rows of Parquet files', 'rows')
      if (!isPossible(start - first)) continue
      const end = source.unitStarts[unit + 1] ?? source.count
      for (let row = start; row < end; row++) {
        const read = reader.read(row, columns)
        const { sample } = read instanceof Promise ? await read : read
        if (columns.every((name, i) => meets(sample[name], tests[i]))) rows.add(row)
      }
    }
  }
  return rows.finish()
}

/** A null meets no condition; nor do rows of a file that lacks a column which others have. */
function meets(value: Column | undefined, holds: Holds): boolean {
  if (value === undefined) return false
  if (value instanceof Uint8Array) return holds(Buffer.from(value).toString('utf8'))
  if (typeof value === 'object') return false
  return holds(value)
}

function testOf(
  { leaves, manifest, columns }: ParquetFile,
  name: string,
  condition: WhereJson[string],
): Holds {
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

function boundsOf(condition: WhereJson[string]): readonly unknown[] {
  return typeof condition === 'object' ? Object.values(condition) : [condition]
}

const isText = (bound: unknown): boolean => typeof bound === 'string'

/** Whether a row group may have rows that are wanted, by the file's row at which a unit begins. */
async function possibleGroups(
  file: ParquetFile,
  where: WhereJson,
  stores: Stores,
): Promise<(row: number) => boolean> {
  const { file: name, bytes, was } = file.place
  const read: ReadAt = async (into, offset) => {
    await readRange(stores, { file: name, offset, length: into.length, was }, into)
    return into.length
  }
  const { leaves } = file
  const conditions = new Map(Object.entries(where).map(([column, one]) => [leafOf(leaves, column), one]))
  const impossible = new Set<number>()
  const { groupRows, emptyGroups } = parseFooter(
    await readFooterBytes(read, bytes, name),
    bytes,
    name,
    (group, leaf, found) => {
      const condition = conditions.get(leaf)
      if (condition !== undefined && !mayMatch(leaves[leaf], condition, found)) impossible.add(group)
    },
  )
  if (emptyGroups > 0) return () => true // their numbers are not those of the groups that are left
  const starts = new Float64Array(groupRows.length)
  for (let group = 1; group < starts.length; group++)
    starts[group] = starts[group - 1] + groupRows.at(group - 1)
  if (starts.length === 0) throw new DecodeError(`${name} has no row groups`)
  return row => !impossible.has(lastAtMost(starts, row))
}
