/** CSV and TSV with a header, as in RFC 4180: quoted cells, doubled quotes, line breaks within quotes. */
import { SourceError } from '../../core/basics/errors.js'
import { fault, type ListText, type Table, type TableLine, textLines } from '../text-lines.js'

/** Characters that a quoted cell may have: a quote that never closes would take in the rest of the file. */
const LONGEST_QUOTED = 65_536

export function separatedTable(text: ListText, separator: string): Table {
  const file = text.name
  const records = separated(text, separator)
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
