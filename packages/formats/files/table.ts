/** Tables in text files: which of the formats a file has, by its extension. */
import { SourceError } from '../../core/basics/errors.js'
import { separatedTable } from './csv.js'
import { jsonTable } from './json-lines.js'
import type { ListText, Table } from './text-lines.js'

const SEPARATORS: Readonly<Record<string, string>> = { csv: ',', tsv: '\t', tab: '\t' }
const JSON_LINES = ['jsonl', 'ndjson']
const TABLE_EXTENSIONS = [...Object.keys(SEPARATORS), ...JSON_LINES]

/** Opens a table; what it is, its extension says. */
export function openTable(text: ListText): Table {
  const file = text.name
  const extension = file.slice(file.lastIndexOf('.') + 1).toLowerCase()
  if (JSON_LINES.includes(extension)) return jsonTable(text)
  const separator = SEPARATORS[extension]
  if (separator === undefined) {
    throw new SourceError(
      `${file}: a list of files ends in ${TABLE_EXTENSIONS.map(name => `.${name}`).join(' ')}: rename it to what it is`,
      { file },
    )
  }
  return separatedTable(text, separator)
}
