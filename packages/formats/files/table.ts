/** Tables in text files: which of the formats a file has, by its extension. */
import { inFile } from '../../core/basics/errors.js'
import { fault, type ListText, type Table, type TableLine, textLines } from '../text-lines.js'

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
    throw inFile(
      file,
      `: a list of files ends in ${TABLES.map(([end]) => end).join(' ')}: rename it to what it is`,
    )
  }
  const [, separator] = table
  return separator === undefined ? jsonTable(text) : separatedTable(text, separator)
}

/** Characters that a quoted cell may have: a quote that never closes would take in the rest of the file. */
const LONGEST_QUOTED = 65_536

function separatedTable(text: ListText, separator: string): Table {
  const file = text.name
  const records = separated(text, separator)
  const first = records.next()
  if (first.done) throw inFile(file, 'is empty: a list of files begins with a line of names')
  const header = first.value.cells.map(name => name.trim())
  checkHeader(file, header, separator)
  // A column without a name is the row number that pandas writes.
  const kept = header.flatMap((name, i) => (name === '' ? [] : [i]))
  return {
    names: kept.map(i => header[i]),
    *lines() {
      for (const { line, cells } of records) {
        if (cells.length === 1 && cells[0] === '') continue // a blank line
        if (cells.length !== header.length) {
          throw fault(file, line, `it has ${cells.length} cells, the header has ${header.length}`)
        }
        yield { line, cells: kept.map(i => cells[i]) }
      }
    },
  }
}

function checkHeader(file: string, header: readonly string[], separator: string): void {
  const twice = header.find((name, i) => name !== '' && header.indexOf(name) !== i)
  if (twice !== undefined) throw fault(file, 1, `two columns are called "${twice}"`)
  if (header.length > 1 || separator !== ',' || !/[;\t]/.test(header[0])) return
  const found = header[0].includes('\t')
    ? 'tabs: call it .tsv'
    : 'semicolons: save it with commas, or as .tsv'
  throw fault(file, 1, `its cells are separated by ${found}`)
}

/** The records of CSV or TSV. */
function* separated(list: ListText, separator: string): Generator<TableLine> {
  const file = list.name
  let begun = 0
  let text = ''
  for (const { line, text: more } of textLines(list)) {
    if (begun === 0) begun = line
    text = begun === line ? more : `${text}\n${more}`
    const whole = text.endsWith('\r') ? text.slice(0, -1) : text
    const cells = whole.includes('"') ? quotedCells(file, begun, whole, separator) : whole.split(separator)
    if (cells === undefined) {
      if (text.length <= LONGEST_QUOTED) continue
      break
    }
    yield { line: begun, cells }
    begun = 0
  }
  if (begun > 0) throw fault(file, begun, 'a quote begins here and does not end')
}

/** The cells of a record with quotes in it; undefined where a quote is still open. */
function quotedCells(file: string, line: number, text: string, separator: string): string[] | undefined {
  const cells: string[] = []
  for (let at = 0; ; ) {
    let cell: string
    if (text[at] === '"') {
      let end = at + 1
      while (true) {
        end = text.indexOf('"', end)
        if (end < 0) return undefined
        if (text[end + 1] !== '"') break
        end += 2
      }
      cell = text.slice(at + 1, end).replaceAll('""', '"')
      at = end + 1
      if (at < text.length && text[at] !== separator) {
        throw fault(
          file,
          line,
          `after the quoted cell ${JSON.stringify(cell.slice(0, 40))} there is more text`,
        )
      }
    } else {
      const end = text.indexOf(separator, at)
      cell = text.slice(at, end < 0 ? text.length : end)
      at = end < 0 ? text.length : end
    }
    cells.push(cell)
    if (at >= text.length) return cells
    at++
    if (at === text.length) {
      cells.push('')
      return cells
    }
  }
}

/** Sixteen digits: from here on JSON.parse may round an integer. */
const LONG_NUMBER = /\d{16}/
/** The strings and numbers of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g
/** Before the digits of a kept integer: no text that JSON brings along begins so. */
const MARK = '\ue000millrace\ue001'
const KEPT = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

function jsonTable(list: ListText): Table {
  const file = list.name
  const names: string[] = []
  const numbers = new Map<string, number>()
  const numberOf = (name: string): number => {
    const known = numbers.get(name)
    if (known !== undefined) return known
    numbers.set(name, names.length)
    return names.push(name) - 1
  }
  return {
    names,
    *lines() {
      for (const { line, text } of textLines(list)) {
        if (text.trim() === '') continue
        const cells: string[] = []
        for (const [name, value] of Object.entries(objectIn(file, line, text)))
          cells[numberOf(name)] = cellOf(file, line, value)
        yield { line, cells: Array.from(names, (_, i) => cells[i] ?? '') }
      }
    },
  }
}

function objectIn(file: string, line: number, text: string): object {
  let value: unknown
  try {
    value = JSON.parse(LONG_NUMBER.test(text) ? text.replace(TOKEN, keepDigits) : text)
  } catch (error) {
    throw fault(file, line, `no JSON: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw fault(file, line, 'it should be an object, such as {"path": "cat/1.jpg", "label": 3}')
}

/** A value as a cell: truth as 1 and 0, lists and objects as JSON. */
function cellOf(file: string, line: number, value: unknown): string {
  if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (value === null) return ''
  try {
    return JSON.stringify(value).replace(KEPT, '$1')
  } catch {
    throw fault(file, line, 'its lists and objects lie too deep in each other: write them flatter')
  }
}

/** An integer that a number can't hold becomes text, so that every digit is delivered. */
function keepDigits(token: string): string {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${MARK}${token}"` : token
}
