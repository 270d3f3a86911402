/**
 * The pages of a column chunk, without their contents: where each lies, which rows it has. They are looked up when a file is
 * indexed, and only in row groups that are too large to be loaded as a whole.
 *
 * Pages of version 1 don't say how many rows of lists they have, and may begin within a row. Where the file has no offset index,
 * they are decompressed once for that, one after the other, and a page that begins within a row counts with the one before it.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { readPageLevels } from '../decode/bits.js'
import { decompressPage } from '../decode/compressed.js'
import { DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PageHeader } from '../decode/page-header.js'
import { Thrift } from './thrift.js'

/** Bytes that are read for a header; statistics in it may make it longer. */
const HEADER = 1024
const LONG_HEADER = 256 << 10
/** A chunk with more pages is not divided. */
const MOST_PAGES = 1 << 17
/** Pages that are larger are not decompressed for their rows. In bytes. */
const MOST_PAGE = 64 << 20

/** A chunk, as the footer has it. */
export interface ChunkPlace {
  start: number
  length: number
  values: number
  /** Where its offset index lies; 0: it has none. */
  pagesAt: number
  pagesLength: number
  codec: number
  /** The greatest repetition level; 0: a value is a row. */
  repetition: number
}

/** The data pages of a chunk, one behind the other; those that belong together as one. */
export interface Pages {
  at: number[]
  /** Bytes in the file, header included, and decompressed. */
  length: number[]
  raw: number[]
  values: number[]
  firstRow: number[]
  dictionary?: { at: number; length: number; raw: number }
}

/** Walks over the headers of a chunk's pages; undefined where it is not known in which row each begins, or there are too many. */
export async function findPages(chunk: ChunkPlace, read: ReadAt): Promise<Pages | undefined> {
  const known = chunk.pagesAt > 0 ? await readOffsetIndex(chunk, read) : undefined
  const pages: Pages = { at: [], length: [], raw: [], values: [], firstRow: [] }
  const header = new PageHeader()
  const end = chunk.start + chunk.length
  let at = chunk.start
  let row = 0
  while (at < end) {
    if (pages.at.length === MOST_PAGES) return undefined
    const length = (await readHeader(header, at, end, read)) + header.compressed
    if (length > end - at) throw new DecodeError(`the page at byte ${at} reaches beyond its column chunk`)
    if (header.type === DICTIONARY_PAGE) pages.dictionary = { at, length, raw: header.raw }
    else if (header.type === DATA_PAGE || header.type === DATA_PAGE_V2) {
      const reported = chunk.repetition === 0 ? header.values : header.rows
      const body = at + length - header.compressed
      const starts = reported < 0 && !known?.has(at) ? await readStarts(chunk, header, body, read) : undefined
      const rows = starts?.rows ?? reported
      const first = known?.get(at) ?? (rows < 0 || row < 0 ? undefined : row)
      if (first === undefined) return undefined
      if (starts?.isWithin) joinLast(pages, at + length, header)
      else {
        pages.at.push(at)
        pages.length.push(length)
        pages.raw.push(header.raw)
        pages.values.push(header.values)
        pages.firstRow.push(first)
      }
      row = rows < 0 ? -1 : first + rows
    }
    at += length
  }
  return pages
}

/** A page that begins within a row of the page before: the two are one from now on. */
function joinLast({ at, length, raw, values }: Pages, end: number, header: PageHeader): void {
  const last = at.length - 1
  if (last < 0) throw new DecodeError('its first value belongs to no row')
  length[last] = end - at[last]
  raw[last] += header.raw
  values[last] += header.values
}

/** How many rows begin in a page of version 1, and whether it begins within one; undefined where it is too large to be looked at. */
async function readStarts(
  { codec, repetition, values, length }: ChunkPlace,
  header: PageHeader,
  at: number,
  read: ReadAt,
): Promise<{ rows: number; isWithin: boolean } | undefined> {
  const { compressed, raw } = header
  if (Math.max(compressed, raw) > MOST_PAGE || header.values > Math.min(values, MOST_PAGE)) return undefined
  if (compressed > length) throw new DecodeError(`the page at byte ${at} reaches beyond its column chunk`)
  const body = Buffer.allocUnsafe(compressed)
  await read(body, at)
  const content = codec === 0 ? body : Buffer.allocUnsafe(raw)
  if (codec !== 0) decompressPage(codec, body, content)
  const levels = new Uint8Array(header.values)
  readPageLevels(content, 0, header.repetitionEncoding, repetition, levels)
  let rows = 0
  for (const level of levels) if (level === 0) rows++
  return { rows, isWithin: levels.length > 0 && levels[0] !== 0 }
}

/** Reads the header of a page; gives its length. */
async function readHeader(header: PageHeader, at: number, end: number, read: ReadAt): Promise<number> {
  for (const most of [HEADER, LONG_HEADER]) {
    const bytes = Buffer.allocUnsafe(Math.min(most, end - at))
    await read(bytes, at)
    try {
      return header.read(bytes, 0)
    } catch (error) {
      if (most === LONG_HEADER || bytes.length < most) throw error
    }
  }
  return 0
}

/** The first row of each page, by where it lies, in the order in which they lie. */
export async function readOffsetIndex(
  { pagesAt, pagesLength }: Pick<ChunkPlace, 'pagesAt' | 'pagesLength'>,
  read: ReadAt,
): Promise<Map<number, number>> {
  const bytes = Buffer.allocUnsafe(pagesLength)
  await read(bytes, pagesAt)
  const rows = new Map<number, number>()
  const thrift = new Thrift(bytes)
  const outer = thrift.enter()
  for (let id = thrift.field(); id !== 0; id = thrift.field()) {
    if (id !== 1) {
      thrift.skip()
      continue
    }
    const count = thrift.list()
    for (let i = 0; i < count; i++) {
      let [at, row] = [-1, -1]
      const inner = thrift.enter()
      for (let field = thrift.field(); field !== 0; field = thrift.field()) {
        if (field === 1) at = thrift.count()
        else if (field === 3) row = thrift.count()
        else thrift.skip()
      }
      thrift.leave(inner)
      rows.set(at, row)
    }
  }
  thrift.leave(outer)
  return rows
}
