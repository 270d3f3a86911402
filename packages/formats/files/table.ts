/** Tables in text files: which of the formats a file has, by its extension. */
import { SourceError } from '../../core/basics/errors.js'
import type { ListText, Table } from '../text-lines.js'
import { separatedTable } from './csv.js'
import { jsonTable } from './json-lines.js'

/** By the ends of names: what separates the cells of a line; undefined where a line is an object of JSON. */
const TABLES: readonly [end: string, separator?: string][] = [
  ['.csv', ','],
  ['.tsv', '\t'],
  ['.tab', '\t'],
  ['.jsonl'],
  ['.ndjson'],
]

/** Opens a table; what it is, its extension says. */
export function openTable(text: ListText): Table {
  const file = text.name
  const table = TABLES.find(([end]) => file.toLowerCase().endsWith(end))
  if (table === undefined) {
    throw new SourceError(
      `${file}: a list of files ends in ${TABLES.map(([end]) => end).join(' ')}: rename it to what it is`,
      { file },
    )
  }
  const [, separator] = table
  return separator === undefined ? jsonTable(text) : separatedTable(text, separator)
}
