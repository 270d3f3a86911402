/**
 * Finds where the rows of a text file begin. It is given the bytes piece by piece, in order, and makes no strings.
 *
 *   lines    every line is a row, empty ones too
 *   filled   lines with nothing but blanks are no rows: JSON lines
 *   records  the same, and a line break within quotes is part of a value: CSV (RFC 4180)
 *
 * A row reaches to the next one: the line break, and blank lines behind it, belong to it. A byte order mark at the beginning
 * belongs to none.
 */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import { NumberBuilder } from '../../core/source/index/columns.js'

export type RowRule = 'lines' | 'filled' | 'records'

/** Bytes that a row may have: more than this is one file taken for one line. */
export const LONGEST_ROW = 256 << 20

const LF = 0x0a
const QUOTE = 0x22
const SPACE = 0x20
const MARK = [0xef, 0xbb, 0xbf]

export class LineScan {
  /** Offset of each row, and of the end. */
  readonly starts = new NumberBuilder()
  /** Whether row r is always line r + 1, a header not counted. */
  plain = true
  /** Line of each row, from 1; empty where that is plain. */
  readonly lines = new NumberBuilder()
  /** Where the header lies. */
  header: readonly [number, number] | undefined
  /** Bytes seen. */
  at = 0
  private line = 1
  /** Where the line began that is being scanned, and its number where it is part of a record. */
  private begun = 0
  private begunLine = 1
  /** Nothing but blanks was seen since `begun`. */
  private blank = true
  private quoted = false
  /** A quote that stands here opens a value. */
  private fresh = true
  /** The byte before was a quote within quotes: it closes the value, unless another follows. */
  private closing = false
  private head: number[] = []

  constructor(
    private readonly file: string,
    private readonly rule: RowRule,
    /** CSV: the byte between cells, and whether the first record is a header. */
    private readonly delimiter = 0x2c,
    private readonly headed = false,
  ) {}

  get count(): number {
    return this.starts.length
  }

  push(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    let from = 0
    if (this.at < MARK.length) from = this.passMark(bytes)
    if (this.rule === 'lines') this.scanLines(bytes, from)
    else if (this.rule === 'filled') this.scanFilled(bytes, from)
    else this.scanRecords(bytes, from)
    this.at += bytes.length
    if (this.at - this.begun > LONGEST_ROW) throw this.tooLong()
  }

  /** All bytes were given: the last row may lack its line break. `starts` then has the end as well. */
  end(): void {
    if (this.quoted && !this.closing)
      throw this.fault(
        this.begunLine,
        'a quote begins in this row and does not end: write quotes within a value twice ("")',
      )
    if (this.at > this.begun && !(this.blank && this.rule !== 'lines')) this.row(this.at)
    this.starts.push(this.at)
  }

  /** The offset in a piece behind a byte order mark, whose bytes may come one by one. */
  private passMark(bytes: Buffer): number {
    const before = this.at
    for (const byte of bytes.subarray(0, MARK.length - before)) this.head.push(byte)
    const [first, second] = this.head
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
      throw inFile(this.file, 'is UTF-16: save it as UTF-8', { offset: 0 })
    if (!MARK.every((byte, i) => this.head[i] === byte)) return 0
    this.begun = MARK.length
    this.blank = true
    this.fresh = true
    return MARK.length - before
  }

  private scanLines(bytes: Buffer, from: number): void {
    for (let end = bytes.indexOf(LF, from); end >= 0; end = bytes.indexOf(LF, end + 1)) {
      this.row(this.at + end + 1)
      this.next(this.at + end + 1)
    }
  }

  private scanFilled(bytes: Buffer, from: number): void {
    let at = from
    for (;;) {
      at = this.passEmpty(bytes, at)
      const found = bytes.indexOf(LF, at)
      const end = found < 0 ? bytes.length : found
      if (this.blank && at < end && (bytes[at] > SPACE || !isBlank(bytes, at, end))) this.blank = false
      if (found < 0) return
      if (!this.blank) this.row(this.at + end + 1)
      this.next(this.at + end + 1)
      at = end + 1
    }
  }

  /** Lines without a quote are passed over as they are; the others byte by byte. */
  private scanRecords(bytes: Buffer, from: number): void {
    let at = from
    let quote = bytes.indexOf(QUOTE, at)
    while (at < bytes.length) {
      at = this.passEmpty(bytes, at)
      if (at === bytes.length) return
      if (quote >= 0 && quote < at) quote = bytes.indexOf(QUOTE, at)
      const found = bytes.indexOf(LF, at)
      const end = found < 0 ? bytes.length : found
      const plain = !this.quoted && (quote < 0 || quote > end)
      if (!plain) {
        this.scanQuoted(bytes, at, end)
      } else if (at < end) {
        if (this.blank && (bytes[at] > SPACE || !isBlankRecord(bytes, at, end))) this.blank = false
        this.fresh = bytes[end - 1] === this.delimiter
      }
      if (found < 0) return
      if (this.quoted && !this.closing) {
        // The line break is part of a value.
        this.line++
        if (this.at + end - this.begun > LONGEST_ROW) throw this.tooLong()
      } else {
        if (!this.blank) this.row(this.at + end + 1)
        this.next(this.at + end + 1)
      }
      at = end + 1
    }
  }

  /** The offset behind empty lines that begin at `at`: a megabyte of gzip may have a thousand million of them. */
  private passEmpty(bytes: Buffer, at: number): number {
    if (bytes[at] !== LF || this.begun !== this.at + at) return at
    let end = at + 1
    while (bytes[end] === LF) end++
    this.line += end - at - 1
    this.next(this.at + end)
    return end
  }

  private scanQuoted(bytes: Buffer, from: number, to: number): void {
    this.blank = false
    let { quoted, fresh, closing } = this
    for (let i = from; i < to; i++) {
      const byte = bytes[i]
      if (closing) {
        closing = false
        if (byte === QUOTE) continue
        quoted = false
      }
      if (byte === QUOTE) {
        if (quoted) closing = true
        else if (fresh) quoted = true
        fresh = false
      } else if (!quoted) fresh = byte === this.delimiter
    }
    Object.assign(this, { quoted, fresh, closing })
  }

  /** The row that began at `begun` ends at `end`. */
  private row(end: number): void {
    if (end - this.begun > LONGEST_ROW) throw this.tooLong()
    if (this.headed && this.header === undefined) {
      this.header = [this.begun, end]
      return
    }
    if (this.plain && this.begunLine !== this.plainLine(this.starts.length)) {
      this.plain = false
      for (let row = 0; row < this.starts.length; row++) this.lines.push(this.plainLine(row))
    }
    if (!this.plain) this.lines.push(this.begunLine)
    this.starts.push(this.begun)
  }

  private plainLine(row: number): number {
    return row + (this.headed ? 2 : 1)
  }

  /** The next line begins at `at`. */
  private next(at: number): void {
    this.begun = at
    this.begunLine = ++this.line
    this.blank = true
    this.quoted = false
    this.closing = false
    this.fresh = true
  }

  private tooLong(): SourceError {
    const why =
      this.rule === 'records' && this.quoted
        ? 'a quote begins in it and does not end'
        : 'it has no line break in so many bytes: is this file text?'
    return this.fault(this.begunLine, `this row is longer than ${LONGEST_ROW >> 20} MiB: ${why}`)
  }

  private fault(line: number, problem: string): SourceError {
    const { file, begun: offset } = this
    return inFile(file, `, line ${line} (byte ${offset}): ${problem}`, { offset })
  }
}

function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = bytes[i]
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  }
  return true
}

/** Of CSV only an empty line is no row: blanks and tabs may be values. */
function isBlankRecord(bytes: Buffer, from: number, to: number): boolean {
  return to - from === 1 && bytes[from] === 0x0d
}
