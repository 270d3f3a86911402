/** Whether a table is a list of files, such as `train.csv`: the column with their paths. */
import { readRange, statOf } from '../../core/store/access.js'
import type { Stores } from '../../core/store/stores.js'

/** Bytes of a file that are looked at. */
const START = 65536

/** The beginning of a file. */
export async function startOf(file: string, stores: Stores): Promise<Buffer> {
  const { bytes } = await statOf(stores, file)
  const start = Buffer.alloc(Math.min(START, bytes))
  if (bytes > 0) await readRange(stores, { file, offset: 0, length: start.length }, start)
  return start
}

/**
 * The column of a table that names files: `path`, or the first in whose first row there is the name of a file, relative to
 * the table. A table that can't be read is named when it is opened.
 */
export async function columnOfPaths(table: string, stores: Stores): Promise<string | undefined> {
  const cells = /\.[ct]sv$/i.test(table)
  if (!cells && !/\.(jsonl|ndjson)$/i.test(table)) return undefined
  const text = (await startOf(table, stores).catch(() => Buffer.alloc(0))).toString().replace(/^\uFEFF/, '')
  const row = cells ? firstRecord(text, /\.t/i.test(table) ? '\t' : ',') : firstObject(text)
  if ('path' in row) return 'path'
  const folder = table.slice(0, table.lastIndexOf('/') + 1)
  for (const [name, cell] of Object.entries(row)) {
    if (typeof cell !== 'string' || !/[^/]\.\w+$/.test(cell)) continue
    const file = cell.startsWith('/') ? cell : folder + cell
    const there = await Promise.resolve(file)
      .then(file => statOf(stores, file))
      .catch(() => undefined)
    if (there !== undefined) return name
  }
  return undefined
}

function firstObject(text: string): Record<string, unknown> {
  const [line] = text.split('\n', 1)
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The cells of the first record by the names of the header. Records of several lines are none of a list of files. */
function firstRecord(text: string, separator: string): Record<string, unknown> {
  const cells = (line = ''): string[] =>
    line.split(separator).map(cell => cell.trim().replace(/^"(.*)"$/, '$1'))
  const [header, first] = text.split('\n', 2)
  const values = cells(first)
  return Object.fromEntries(cells(header).map((name, i) => [name, values[i]]))
}
