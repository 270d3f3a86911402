/**
 * The text of a list, line by line; a byte order mark is passed over. A local file is read in pieces, each time anew; an object
 * of another store is fetched once. And what the tables made of lines have in common.
 */

import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { closeSync, readSync } from 'node:fs'
import { inFile, type SourceError } from '../core/basics/errors.js'
import { readWhole, type StoreOf } from '../core/store/access.js'
import { schemeOf } from '../core/store/stores.js'
import { openRegular } from '../core/system/files/regular.js'

/** Bytes that are read at a time. */
const PIECE = 4 << 20
/** Bytes of a list that is fetched. */
const MOST = 2 ** 30
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

export interface ListText {
  /** Its path, or its name with a scheme. */
  name: string
  /** All of it, from the beginning. */
  pieces(): Generator<Buffer>
}

export async function listText(stores: StoreOf, name: string): Promise<ListText> {
  if (schemeOf(name) === undefined) return localText(name)
  const bytes = await readWhole(stores, name, MOST)
  return {
    name,
    *pieces() {
      for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
    },
  }
}

export function localText(name: string): ListText {
  return {
    name,
    *pieces() {
      const { fd } = openRegular(name)
      try {
        for (;;) {
          const piece = Buffer.allocUnsafe(PIECE)
          const got = readSync(fd, piece, 0, PIECE, null)
          if (got === 0) return
          yield piece.subarray(0, got)
        }
      } finally {
        closeSync(fd)
      }
    },
  }
}

/** A digest of its contents. */
export function hashOf(text: ListText): string {
  const hash = createHash('sha256')
  for (const piece of text.pieces()) hash.update(piece)
  return hash.digest('hex').slice(0, 32)
}

/** The lines without the LF at their end; a CR before it stays. */
export function* textLines(list: ListText): Generator<{ line: number; text: string }> {
  const file = list.name
  let line = 0
  let rest = Buffer.alloc(0)
  function* linesIn(whole: Buffer): Generator<{ line: number; text: string }> {
    if (!isUtf8(whole)) throw notUtf8(file, whole)
    let text = whole.toString()
    if (line === 0 && text.startsWith('\ufeff')) text = text.slice(1)
    if (text === '') return
    const lines = text.split('\n')
    if (lines.at(-1) === '') lines.pop()
    for (const text of lines) yield { line: ++line, text }
  }
  for (const piece of list.pieces()) {
    const bytes = Buffer.concat([rest, piece])
    const end = bytes.lastIndexOf(10) + 1
    yield* linesIn(bytes.subarray(0, end))
    rest = bytes.subarray(end)
    if (rest.length > LONGEST_LINE) throw fault(file, line + 1, `it is longer than ${LONGEST_LINE >> 20} MiB`)
  }
  yield* linesIn(rest)
}

function notUtf8(file: string, bytes: Buffer): SourceError {
  const wide = [0xfeff, 0xfffe].includes(bytes.length < 2 ? 0 : bytes.readUInt16BE(0))
  return inFile(file, `is ${wide ? 'UTF-16' : 'not valid UTF-8'}: save it as UTF-8`)
}

/** The error for a line that is wrong. */
export function fault(file: string, line: number, problem: string): SourceError {
  return inFile(file, `, line ${line}: ${problem}`)
}
