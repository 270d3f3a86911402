/** What the first rows of a file of JSON lines tell of its columns, for `inspect`: `int`, `text`, `list<float>`. */
import type { HeadColumn } from '../csv/columns.js'

interface Seen {
  types: Set<string>
  nulls: boolean
  rows: number
}

/** A row that is no JSON object is left out here: it is told when it is read. */
export function jsonColumns(rows: readonly Uint8Array[]): HeadColumn[] {
  const columns = new Map<string, Seen>()
  let objects = 0
  for (const row of rows) {
    const object = objectIn(row)
    if (object === undefined) continue
    objects++
    for (const [name, value] of Object.entries(object)) {
      const seen = columns.get(name) ?? { types: new Set(), nulls: false, rows: 0 }
      columns.set(name, seen)
      seen.rows++
      if (value === null) seen.nulls = true
      else seen.types.add(typeOf(value))
    }
  }
  return [...columns].map(([name, { types, nulls, rows }]) => ({
    name,
    ...(types.size > 0 && { json: together(types) }),
    ...((nulls || rows < objects) && { nulls: true }),
  }))
}

/** A string, or a number that Python's json writes and that is no JSON. */
const STRING_OR_SPECIAL = /"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)/gs

function objectIn(row: Uint8Array): Record<string, unknown> | undefined {
  const text = Buffer.from(row.buffer, row.byteOffset, row.length).toString('utf8')
  const special = text.includes('NaN') || text.includes('Infinity')
  try {
    // Their type counts, not their value.
    const value: unknown = JSON.parse(
      special ? text.replace(STRING_OR_SPECIAL, found => (found[0] === '"' ? found : '0.5')) : text,
    )
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Lists in lists that are looked into. */
const MOST_DEPTH = 6

function typeOf(value: unknown, depth = 0): string {
  if (typeof value === 'string') return 'text'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  if (!Array.isArray(value)) return 'object'
  if (value.length === 0 || depth === MOST_DEPTH) return 'list'
  const items = new Set(value.map(item => (item === null ? 'null' : typeOf(item, depth + 1))))
  return `list<${together(items)}>`
}

/** Whole numbers are floats where there are others; an empty list is one of anything. */
function together(types: ReadonlySet<string>): string {
  const all = [...types].filter(
    type =>
      !(type === 'int' && types.has('float')) &&
      !(type === 'list<int>' && types.has('list<float>')) &&
      !(type === 'list' && types.size > 1),
  )
  return all.sort().join(' or ')
}
