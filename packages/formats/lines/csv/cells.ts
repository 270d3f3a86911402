/**
 * The cells of one CSV record, found in its bytes (RFC 4180): a cell that begins with a quote ends at the next single one,
 * two quotes are one; elsewhere a quote is a character like any other.
 */
import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../../../core/basics/errors.js'

const QUOTE = 0x22

/** Told of a wanted cell: what it is wanted as, its text, and whether that stood in quotes. */
export type OnCell = (want: number, text: string, quoted: boolean) => void

/**
 * Goes through the cells of a record and gives their number. `wants` has a number for each cell that `found` is told of, and
 * -1 for the others; where it is absent, all are wanted, by their number.
 */
export function readCells(record: Uint8Array, delimiter: number, found: OnCell, wants?: Int32Array): number {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.length)
  const end = withoutBreak(bytes)
  for (let at = 0, number = 0; ; number++) {
    const want = wants === undefined ? number : number < wants.length ? wants[number] : -1
    let to = at
    if (at < end && bytes[at] === QUOTE) {
      const close = closingQuote(bytes, at + 1, end)
      if (close < 0) throw new DecodeError(`cell ${number + 1} begins with a quote and does not end`)
      to = close + 1
      if (to < end && bytes[to] !== delimiter)
        throw new DecodeError(
          `behind the quotes of cell ${number + 1} there is more text: write quotes within a value twice ("")`,
        )
      if (want >= 0) found(want, unquoted(textOf(bytes, at + 1, close, number)), true)
    } else {
      while (to < end && bytes[to] !== delimiter) to++
      if (want >= 0) found(want, textOf(bytes, at, to, number), false)
    }
    if (to >= end) return number + 1
    at = to + 1
  }
}

/** All cells of a record, as text. */
export function cellsOf(record: Uint8Array, delimiter: number): string[] {
  const cells: string[] = []
  readCells(record, delimiter, (_, text) => void cells.push(text))
  return cells
}

/** The quote that closes a cell. */
function closingQuote(bytes: Buffer, from: number, end: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0 && at < end; at = bytes.indexOf(QUOTE, at + 2)) {
    if (at + 1 >= end || bytes[at + 1] !== QUOTE) return at
  }
  return -1
}

function unquoted(text: string): string {
  return text.includes('"') ? text.replaceAll('""', '"') : text
}

function textOf(bytes: Buffer, from: number, to: number, number: number): string {
  if (from === to) return ''
  if (isUtf8(bytes.subarray(from, to))) return bytes.toString('utf8', from, to)
  throw new DecodeError(`cell ${number + 1} is not UTF-8: convert the file to UTF-8`)
}

/** The end without line breaks. */
function withoutBreak(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--
  return end
}
