/** Names and types of the columns of a CSV file: from its header and its first rows. */
import { inFile, MillraceError, type SourceError } from '../../../core/basics/errors.js'
import { cellsOf } from './cells.js'
import { type CsvType, commonType, typeOfCell } from './types.js'

/** What the first rows tell of a column. */
export interface HeadColumn {
  name: string
  /** Undefined where all its cells are empty. */
  type?: CsvType
  nulls?: boolean
  /** JSON lines: the types of its values, in words. */
  json?: string
}

/** `header`: its record; undefined where the file has none. Columns are then called f0, f1, … */
export function csvColumns(
  file: string,
  header: Uint8Array | undefined,
  rows: readonly Uint8Array[],
  delimiter: number,
): HeadColumn[] {
  const records = rows.map(row => tolerantCells(row, delimiter))
  const names =
    header === undefined ? (records[0] ?? []).map((_, i) => `f${i}`) : namesIn(file, header, delimiter)
  const columns: HeadColumn[] = names.map(name => ({ name }))
  for (const cells of records) {
    if (cells.length !== names.length) continue // told when the row is read
    cells.forEach((cell, i) => {
      const type = commonType(columns[i].type, typeOfCell(cell))
      if (type !== undefined) columns[i].type = type
      if (cell === '') columns[i].nulls = true
    })
  }
  return columns
}

/** Column without a name: the row number that pandas writes. It is part of every record, and of no sample. */
function namesIn(file: string, header: Uint8Array, delimiter: number): string[] {
  let names: string[]
  try {
    names = cellsOf(header, delimiter).map(name => name.trim())
  } catch (error) {
    throw fault(file, `${(error as Error).message}`)
  }
  if (names.some(name => name.includes('\r')))
    throw fault(file, 'its lines end with CR alone: write LF instead, as by `tr "\\r" "\\n" < FILE > NEW`')
  const twice = names.find((name, i) => name !== '' && names.indexOf(name) !== i)
  if (twice !== undefined)
    throw fault(file, `two columns are called "${twice}": rename one, or give the names: "columns": […]`)
  const other = [';', '\t', '|', ','].find(
    mark => mark.charCodeAt(0) !== delimiter && names[0].includes(mark),
  )
  if (names.length === 1 && other !== undefined) {
    throw fault(
      file,
      `its cells seem to be separated by ${JSON.stringify(other)}: say so, {"csv": {"path": …, "delimiter": ${JSON.stringify(other)}}}`,
    )
  }
  return names
}

/** The cells of a row; none where it is wrong, which is told when it is read. */
function tolerantCells(row: Uint8Array, delimiter: number): string[] {
  try {
    return cellsOf(row, delimiter)
  } catch (error) {
    if (error instanceof MillraceError) return []
    throw error
  }
}

function fault(file: string, problem: string): SourceError {
  return inFile(file, `, line 1: ${problem}`, { offset: 0 })
}
