/** Reads a text file line by line, in pieces; a byte order mark is passed over. And what the tables made of lines have in common. */
import { isUtf8 } from 'node:buffer'
import { closeSync, readSync } from 'node:fs'
import { SourceError } from '../../basics/errors.js'
import { openRegular } from '../../system/files/regular.js'

/** Bytes that are read at a time. */
const PIECE = 4 << 20
/** Bytes that a line may have. */
const LONGEST_LINE = 64 << 20

/** A line of a table: its number in the file, from 1, and its cells by the number of their column. Missing ones are ''. */
export interface TableLine {
  line: number
  cells: readonly string[]
}

export interface Table {
  /** Names of the columns. Those of JSON lines grow while the lines are read. */
  names: string[]
  lines(): Generator<TableLine>
}

/** The lines without the LF at their end; a CR before it stays. */
export function* textLines(file: string): Generator<{ line: number; text: string }> {
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

/** The error for a line that is wrong. */
export function fault(file: string, line: number, problem: string): SourceError {
  return new SourceError(`${file}, line ${line}: ${problem}`, { file })
}
