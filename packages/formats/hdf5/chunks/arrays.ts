/**
 * The indexes of newer files that have no keys: the chunks stand in the order of their numbers. An implicit one has no table at all,
 * a fixed array has one of a fixed size, an extensible one grows along the axis that has no limit.
 */
import { walkBtree1 } from '../structure/btree1.js'
import { walkBtree2 } from '../structure/btree2.js'
import { type Cursor, NOWHERE } from '../structure/bytes.js'
import type { DataLayout } from '../structure/messages.js'
import type { ChunkGrid } from './grid.js'

/** Signature, version, client. */
const HEAD = 6
const SUM = 4

/** All chunks one behind the other, none filtered. */
function implicitChunks(grid: ChunkGrid, address: number): void {
  const number = grid.numbering()
  if (address === NOWHERE) return
  const most = grid.most.reduce((product, n, i) => product * Math.ceil(n / grid.chunk[i]), 1)
  if (!(most * grid.chunkBytes <= grid.file.size))
    throw grid.file.fault('chunks reach beyond the end of the file', address)
  for (let i = 0; i < most; i++) {
    const at = number(i)
    if (at >= 0) grid.put(at, address + i * grid.chunkBytes, grid.chunkBytes, 0)
  }
}

/** Reads the entries of such a table into the grid. */
class Entries {
  private readonly sizeBytes: number

  constructor(
    private readonly grid: ChunkGrid,
    readonly bytes: number,
    private readonly number: (i: number) => number,
    at: Cursor,
  ) {
    this.sizeBytes = bytes - grid.file.offsetSize - 4
    const right = grid.filtered ? this.sizeBytes >= 1 && this.sizeBytes <= 8 : bytes === grid.file.offsetSize
    if (!right) throw at.fault(`an index of chunks has entries of ${bytes} bytes`)
  }

  /** `count` entries, the first of which is chunk `from`. */
  read(cursor: Cursor, from: number, count: number): void {
    const { grid } = this
    for (let i = from; i < from + count; i++) {
      const next = cursor.at + this.bytes
      const address = cursor.where()
      if (address !== NOWHERE) {
        const bytes = grid.filtered ? cursor.uint(this.sizeBytes) : grid.chunkBytes
        const mask = grid.filtered ? cursor.u32() : 0
        const number = this.number(i)
        if (number >= 0) grid.put(number, address, bytes, mask)
      }
      cursor.at = next
    }
  }
}

/** Whether bit i is set: the first is the highest of its byte. */
const bit = (bytes: Uint8Array, i: number): boolean => (bytes[i >> 3] & (0x80 >> (i & 7))) !== 0

async function fixedArrayChunks(grid: ChunkGrid, address: number): Promise<void> {
  if (address === NOWHERE) return
  const { file } = grid
  const header = await file.checked(
    address,
    HEAD + 2 + file.lengthSize + file.offsetSize + SUM,
    'index of chunks',
  )
  header.signature('FAHD', 'index of chunks')
  header.skip(2)
  const [entryBytes, pageBits] = [header.u8(), header.u8()]
  const count = header.length()
  const block = header.where()
  if (block === NOWHERE) return
  const entries = new Entries(grid, entryBytes, grid.numbering(), header)
  file.offsetOf(block, count * entryBytes)
  const perPage = 2 ** pageBits
  const head = HEAD + file.offsetSize
  if (count <= perPage) {
    const body = await file.checked(block, head + count * entryBytes + SUM, 'index of chunks')
    body.signature('FADB', 'index of chunks')
    body.skip(head - 4)
    return entries.read(body, 0, count)
  }
  const pages = Math.ceil(count / perPage)
  const bitmap = Math.ceil(pages / 8)
  const body = await file.checked(block, head + bitmap + SUM, 'index of chunks')
  body.signature('FADB', 'index of chunks')
  body.skip(head - 4)
  const written = body.take(bitmap)
  const first = block + head + bitmap + SUM
  for (let page = 0; page < pages; page++) {
    if (!bit(written, page)) continue
    const from = page * perPage
    const here = Math.min(perPage, count - from)
    const at = first + page * (perPage * entryBytes + SUM)
    entries.read(await file.checked(at, here * entryBytes + SUM, 'index of chunks'), from, here)
  }
}

/** The super blocks of an extensible array: of each its data blocks, their entries, and the first of these. */
interface Super {
  blocks: number
  entries: number
  first: number
}

async function extensibleArrayChunks(grid: ChunkGrid, address: number): Promise<void> {
  if (address === NOWHERE) return
  const { file } = grid
  const header = await file.checked(
    address,
    HEAD + 6 + 6 * file.lengthSize + file.offsetSize + SUM,
    'index of chunks',
  )
  header.signature('EAHD', 'index of chunks')
  header.skip(2)
  const [entryBytes, mostBits, inIndex, leastEntries, leastPointers, pageBits] = header.take(6)
  header.skip(4 * file.lengthSize)
  const highest = header.length()
  header.skip(file.lengthSize)
  const indexBlock = header.where()
  if (indexBlock === NOWHERE) return
  const powers = [leastEntries, leastPointers].every(n => n > 0 && (n & (n - 1)) === 0)
  if (!powers || mostBits > 64 || pageBits > 32)
    throw header.fault('an index of chunks has blocks that can not be')
  const first = grid.most.indexOf(Infinity)
  const entries = new Entries(grid, entryBytes, grid.numbering(Math.max(0, first)), header)
  const perPage = 2 ** pageBits
  const offsetBytes = Math.ceil(mostBits / 8)
  const head = HEAD + file.offsetSize

  const supers: Super[] = []
  for (let i = 0, start = inIndex; i <= mostBits - Math.log2(leastEntries); i++) {
    const [blocks, each] = [2 ** Math.floor(i / 2), 2 ** Math.floor((i + 1) / 2) * leastEntries]
    supers.push({ blocks, entries: each, first: start })
    start += blocks * each
  }
  const inline = 2 * Math.log2(leastPointers)
  const blocksInIndex = 2 * (leastPointers - 1)
  const superBlocks = Math.max(0, supers.length - inline)
  const index = await file.checked(
    indexBlock,
    head + inIndex * entryBytes + (blocksInIndex + superBlocks) * file.offsetSize + SUM,
    'index of chunks',
  )
  index.signature('EAIB', 'index of chunks')
  index.skip(head - 4)
  entries.read(index, 0, inIndex)
  for (const { blocks, entries: each, first: start } of supers.slice(0, inline)) {
    for (let b = 0; b < blocks; b++) await dataBlock(index.where(), start + b * each, each, undefined, 0)
  }
  for (const one of supers.slice(inline)) {
    const at = index.where()
    if (at !== NOWHERE && one.first < highest) await superBlock(at, one)
  }

  async function superBlock(at: number, { blocks, entries: each, first: start }: Super): Promise<void> {
    const pages = each > perPage ? each / perPage : 0
    const bitmap = blocks * Math.ceil(pages / 8)
    const bytes = head + offsetBytes + bitmap + blocks * file.offsetSize + SUM
    const cursor = await file.checked(at, bytes, 'index of chunks')
    cursor.signature('EASB', 'index of chunks')
    cursor.skip(head - 4 + offsetBytes)
    const written = cursor.take(bitmap)
    for (let b = 0; b < blocks; b++)
      await dataBlock(cursor.where(), start + b * each, each, written, b * pages)
  }

  async function dataBlock(
    at: number,
    from: number,
    count: number,
    written: Uint8Array | undefined,
    firstPage: number,
  ): Promise<void> {
    if (at === NOWHERE || from >= highest) return
    const prefix = head + offsetBytes
    if (count <= perPage) {
      const cursor = await file.checked(at, prefix + count * entryBytes + SUM, 'index of chunks')
      cursor.signature('EADB', 'index of chunks')
      cursor.skip(prefix - 4)
      return entries.read(cursor, from, count)
    }
    const start = at + prefix + SUM
    for (let page = 0; page < count / perPage && from + page * perPage < highest; page++) {
      if (written !== undefined && !bit(written, firstPage + page)) continue
      const pageAt = start + page * (perPage * entryBytes + SUM)
      const cursor = await file.checked(pageAt, perPage * entryBytes + SUM, 'index of chunks')
      entries.read(cursor, from + page * perPage, perPage)
    }
  }
}

async function btree1Chunks(grid: ChunkGrid, root: number): Promise<void> {
  const rank = grid.sides.length
  const place = new Float64Array(rank)
  await walkBtree1(grid.file, root, {
    kind: 1,
    // Size and mask, then the first element along each axis, and 0 for the bytes of an element.
    key: 8 + 8 * (rank + 1),
    leaf(key, child) {
      const [bytes, mask] = [key.u32(), key.u32()]
      for (let i = 0; i < rank; i++) {
        const first = key.uint(8)
        if (first % grid.chunk[i] !== 0)
          throw key.fault(`a chunk begins at element ${first}, which is between two chunks`)
        place[i] = first / grid.chunk[i]
      }
      grid.putAt(place, child, bytes, mask)
    },
  })
}

/** Types of records: chunks that are not filtered, and such as are. */
const PLAIN = 10
const FILTERED = 11

async function btree2Chunks(grid: ChunkGrid, address: number): Promise<void> {
  if (address === NOWHERE) return
  const rank = grid.sides.length
  const place = new Float64Array(rank)
  const { offsetSize } = grid.file
  let sizeBytes = 0
  await walkBtree2(
    grid.file,
    address,
    [PLAIN, FILTERED],
    ({ type, recordBytes }) => {
      sizeBytes = type === FILTERED ? recordBytes - offsetSize - 4 - 8 * rank : 0
      if (type === FILTERED ? sizeBytes < 1 || sizeBytes > 8 : recordBytes !== offsetSize + 8 * rank)
        throw grid.file.fault(`an index of chunks has records of ${recordBytes} bytes`, address)
    },
    (record, { type }) => {
      const at = record.where()
      const bytes = type === FILTERED ? record.uint(sizeBytes) : grid.chunkBytes
      const mask = type === FILTERED ? record.u32() : 0
      for (let i = 0; i < rank; i++) place[i] = record.uint(8)
      if (at !== NOWHERE) grid.putAt(place, at, bytes, mask)
    },
  )
}

export async function readChunks(grid: ChunkGrid, layout: DataLayout & { is: 'chunked' }): Promise<void> {
  const { address, index } = layout
  if (address === NOWHERE || grid.count === 0) return
  switch (index.by) {
    case 'btree1':
      return btree1Chunks(grid, address)
    case 'btree2':
      return btree2Chunks(grid, address)
    case 'implicit':
      return implicitChunks(grid, address)
    case 'fixed':
      return fixedArrayChunks(grid, address)
    case 'extensible':
      return extensibleArrayChunks(grid, address)
    case 'single':
      grid.put(0, address, index.bytes ?? grid.chunkBytes, index.mask)
  }
}
