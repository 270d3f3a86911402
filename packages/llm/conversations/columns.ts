/**
 * Which columns of a source hold conversations, and a row of them as JSON. Most formats give lists of messages as JSON text; Parquet
 * gives a list for each member of a message.
 */
import { DecodeError, SourceError } from '../../core/basics/errors.js'
import type { Column, Columns, Source } from '../../core/source/source.js'
import { type Json, type JsonObject, parseJson } from '../chat/json.js'

/** Values that are texts as they are; all others are JSON. */
const PLAIN: readonly string[] = ['prompt', 'completion', 'chosen', 'rejected']
/** Columns in which one of the source's may be a list of messages. */
const MESSAGES: readonly string[] = ['messages', 'conversations', ...PLAIN]

export function chatColumns(source: Source, wanted: readonly string[]): string[] {
  const { columns } = source
  // JSON lines look at the first rows only: others may have what these lack.
  const open = source.index('line') !== undefined
  return wanted.flatMap(name => {
    if (columns.includes(name)) return [name]
    const members = MESSAGES.includes(name) ? membersOf(columns, name) : []
    return members.length === 0 && open ? [name] : members
  })
}

function membersOf(columns: readonly string[], name: string): string[] {
  const members = columns.filter(column => column.startsWith(`${name}.`))
  const deep = members.find(member => member.slice(name.length + 1).includes('.'))
  if (deep !== undefined)
    throw new SourceError(
      `chat: the column "${deep}" lies two lists deep, which can't be put together again from Parquet: ` +
        "save the data as Arrow (datasets' save_to_disk) or as JSON lines (to_json)",
    )
  return members
}

/** A row as an object, as the line of a JSON file would be. */
export function sampleJson(sample: Columns): JsonObject {
  const out: JsonObject = new Map()
  const lists = new Map<string, Map<string, Json>>()
  for (const [name, column] of Object.entries(sample)) {
    const dot = name.indexOf('.')
    if (dot < 0) out.set(name, jsonOf(name, column))
    else {
      const outer = name.slice(0, dot)
      lists.set(
        outer,
        (lists.get(outer) ?? new Map()).set(name.slice(dot + 1), parseJson(textOf(name, column))),
      )
    }
  }
  for (const [name, members] of lists) out.set(name, together(name, members))
  return out
}

function jsonOf(name: string, column: Column): Json {
  if (typeof column === 'number' || typeof column === 'bigint') return column
  const text = textOf(name, column)
  if (!PLAIN.includes(name)) return parseJson(text)
  // A list of messages and a text look alike here, and an answer may be JSON, too.
  if (!/^\s*\[\s*\{/.test(text)) return text
  try {
    const json = parseJson(text)
    return Array.isArray(json) && json.some(isMessage) ? json : text
  } catch {
    return text
  }
}

const isMessage = (json: Json): boolean => json instanceof Map && (json.has('role') || json.has('content'))

function textOf(name: string, column: Column): string {
  if (typeof column === 'string') return column
  if (column instanceof Uint8Array)
    return Buffer.from(column.buffer, column.byteOffset, column.length).toString()
  throw new DecodeError(`"${name}" is no text and no list of messages`)
}

/** Messages of lists of their members. What is null in a column is absent in the message. */
function together(name: string, members: ReadonlyMap<string, Json>): Json {
  const lists = Array.from(members)
  const count = Math.max(0, ...lists.map(([, list]) => (Array.isArray(list) ? list.length : 0)))
  return Array.from({ length: count }, (_, i) => {
    const message: JsonObject = new Map()
    for (const [member, list] of lists) {
      if (!Array.isArray(list)) throw new DecodeError(`"${name}.${member}" is no list`)
      const value = list[i] ?? null
      if (value !== null) message.set(member, value)
    }
    return message
  })
}
