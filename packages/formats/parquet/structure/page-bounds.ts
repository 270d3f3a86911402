/** The least and the greatest value of each page of a column chunk, where the file has an index of these. */
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { readOffsetIndex } from './pages.js'
import { Thrift } from './thrift.js'

/** Where the two indexes of a chunk's pages lie: offsets and bounds. A length of 0: there is none. */
export interface PageIndexes {
  pagesAt: number
  pagesLength: number
  boundsAt: number
  boundsLength: number
}

/** One page: the rows that it has, counted in its row group, and its bounds; none where all of its values are null. */
export interface PageBounds {
  from: number
  to: number
  bounds?: { min: Uint8Array; max: Uint8Array }
}

/** The pages of a chunk without lists, in a row group of so many rows; undefined where the file does not tell. */
export async function readPageBounds(
  { pagesAt, pagesLength, boundsAt, boundsLength }: PageIndexes,
  rows: number,
  read: ReadAt,
): Promise<PageBounds[] | undefined> {
  if (pagesLength === 0 || boundsLength === 0) return undefined
  const starts = [...(await readOffsetIndex({ pagesAt, pagesLength }, read)).values(), rows]
  const bytes = Buffer.allocUnsafe(boundsLength)
  await read(bytes, boundsAt)
  const { nulls, min, max } = parseBounds(bytes)
  const count = starts.length - 1
  const isWhole = starts[0] === 0 && starts.every((row, i) => i === 0 || row > starts[i - 1])
  if (!isWhole || [nulls, min, max].some(list => list.length !== count)) return undefined
  return nulls.map((isNull, i) => ({
    from: starts[i],
    to: starts[i + 1],
    ...(!isNull && { bounds: { min: min[i], max: max[i] } }),
  }))
}

function parseBounds(bytes: Uint8Array): { nulls: boolean[]; min: Uint8Array[]; max: Uint8Array[] } {
  const thrift = new Thrift(bytes)
  const nulls: boolean[] = []
  const min: Uint8Array[] = []
  const max: Uint8Array[] = []
  const outer = thrift.enter()
  for (let id = thrift.field(); id !== 0; id = thrift.field()) {
    if (id < 1 || id > 3) {
      thrift.skip()
      continue
    }
    const count = thrift.list()
    for (let i = 0; i < count; i++) {
      if (id === 1) nulls.push(thrift.element())
      else (id === 2 ? min : max).push(thrift.binary())
    }
  }
  thrift.leave(outer)
  return { nulls, min, max }
}
