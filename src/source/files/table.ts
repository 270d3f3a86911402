/**
 * Tables in text files, line by line: CSV and TSV with a header (RFC 4180: quotes, doubled quotes, line breaks within
 * them), and JSON lines. Lines end with LF or CRLF, a byte order mark is passed over. The file is read in pieces.
 */
import { isUtf8 } from 'node:buffer'
import { closeSync, readSync } from 'node:fs'
import { SourceError } from '../../basics/errors.js'
import { openRegular } from '../../system/files/regular.js'

/** Bytes that are read at a time. */
const PIECE = 4 << 20
/** Bytes that a line may have. */
const LONGEST_LINE = 64 << 20
/** Characters that a quoted cell may have: a quote that never closes would take in the rest of the file. */
const LONGEST_QUOTED = 65_536

/** A line of the table: its number in the file, from 1, and its cells by the number of their column. Missing ones are ''. */
export interface TableLine {
  line: number
  cells: readonly string[]
}

export interface Table {
  /** Names of the columns. Those of JSON lines grow while the lines are read. */
  names: string[]
  lines(): Generator<TableLine>
}

const SEPARATORS: Readonly<Record<string, string>> = { csv: ',', tsv: '\t', tab: '\t' }
const JSON_LINES = ['jsonl', 'ndjson']
export const TABLE_EXTENSIONS = [...Object.keys(SEPARATORS), ...JSON_LINES]

/** Opens a table; what it is, its extension says. */
export function openTable(file: string): Table {
  const extension = file.slice(file.lastIndexOf('.') + 1).toLowerCase()
  if (JSON_LINES.includes(extension)) return jsonTable(file)
  const separator = SEPARATORS[extension]
  if (separator === undefined) {
    throw new SourceError(
      `${file}: a list of files ends in ${TABLE_EXTENSIONS.map(name => `.${name}`).join(' ')}: rename it to what it is`,
      { file },
    )
  }
  return separatedTable(file, separator)
}

function separatedTable(file: string, separator: string): Table {
  const records = separated(file, separator)
  const first = records.next()
  if (first.done)
    throw new SourceError(`${file} is empty: a list of files begins with a line of names`, { file })
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
function* separated(file: string, separator: string): Generator<TableLine> {
  let begun = 0
  let text = ''
  for (const { line, text: more } of textLines(file)) {
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

function jsonTable(file: string): Table {
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
      for (const { line, text } of textLines(file)) {
        if (text.trim() === '') continue
        const cells: string[] = []
        for (const [name, value] of Object.entries(objectIn(file, line, text)))
          cells[numberOf(name)] = cellOf(value)
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
function cellOf(value: unknown): string {
  if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value
  if (typeof value === 'boolean') return value ? '1' : '0'
  return value === null ? '' : JSON.stringify(value).replace(KEPT, '$1')
}

/** Sixteen digits: from here on JSON.parse may round an integer. */
const LONG_NUMBER = /\d{16}/
/** The strings and numbers of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g
/** Before the digits of a kept integer: no text that JSON brings along begins so. */
const MARK = '\ue000millrace\ue001'
const KEPT = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

/** An integer that a number can't hold becomes text, so that every digit is delivered. */
function keepDigits(token: string): string {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${MARK}${token}"` : token
}

function* textLines(file: string): Generator<{ line: number; text: string }> {
  const { fd } = openRegular(file)
  try {
    let line = 0
    let rest = Buffer.alloc(0)
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE)
      const got = readSync(fd, piece, 0, PIECE, null)
      const bytes = Buffer.concat([rest, piece.subarray(0, got)])
      const end = got === 0 ? bytes.length : bytes.lastIndexOf(10) + 1
      const whole = bytes.subarray(0, end)
      if (!isUtf8(whole)) throw notUtf8(file, whole)
      let text = whole.toString()
      if (line === 0 && text.startsWith('\ufeff')) text = text.slice(1)
      if (text !== '') {
        const lines = text.split('\n')
        if (lines.at(-1) === '') lines.pop()
        for (const text of lines) yield { line: ++line, text }
      }
      if (got === 0) return
      rest = bytes.subarray(end)
      if (rest.length > LONGEST_LINE)
        throw fault(file, line + 1, `it is longer than ${LONGEST_LINE >> 20} MiB`)
    }
  } finally {
    closeSync(fd)
  }
}

function notUtf8(file: string, bytes: Buffer): SourceError {
  const wide = [0xfeff, 0xfffe].includes(bytes.length < 2 ? 0 : bytes.readUInt16BE(0))
  return new SourceError(`${file} is ${wide ? 'UTF-16' : 'not valid UTF-8'}: save it as UTF-8`, { file })
}

function fault(file: string, line: number, problem: string): SourceError {
  return new SourceError(`${file}, line ${line}: ${problem}`, { file })
}
