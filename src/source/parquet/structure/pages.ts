/**
 * The pages of a column chunk, without their contents: where each lies, which rows it has. They are looked up when a file is
 * indexed, and only in row groups that are too large to be loaded as a whole.
 */
import { DecodeError } from '../../../basics/errors.js'
import type { ReadAt } from '../../index/read-at.js'
import { DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PageHeader } from '../decode/page-header.js'
import { Thrift } from './thrift.js'

/** Bytes that are read for a header; statistics in it may make it longer. */
const HEADER = 1024
const LONG_HEADER = 256 << 10
/** A chunk with more pages is not divided. */
const MOST_PAGES = 1 << 17

/** A chunk, as the footer has it. */
export interface ChunkPlace {
  start: number
  length: number
  values: number
  /** Where its offset index lies; 0: it has none. */
  pagesAt: number
  pagesLength: number
  /** A value is a row. */
  isFlat: boolean
}

/** The data pages of a chunk, one behind the other. */
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
      const rows = chunk.isFlat ? header.values : header.rows
      const first = known?.get(at) ?? (rows < 0 || row < 0 ? undefined : row)
      if (first === undefined) return undefined
      pages.at.push(at)
      pages.length.push(length)
      pages.raw.push(header.raw)
      pages.values.push(header.values)
      pages.firstRow.push(first)
      row = rows < 0 ? -1 : first + rows
    }
    at += length
  }
  return pages
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

/** The first row of each page, by where it lies. */
async function readOffsetIndex(
  { pagesAt, pagesLength }: ChunkPlace,
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
