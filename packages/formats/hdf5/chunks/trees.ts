/** Chunks by a B-tree, older or newer: each entry names the chunk's place. */
import { walkBtree1 } from '../structure/btree1.js'
import { walkBtree2 } from '../structure/btree2.js'
import { NOWHERE } from '../structure/bytes.js'
import type { ChunkGrid } from './grid.js'

export async function btree1Chunks(grid: ChunkGrid, root: number): Promise<void> {
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

export async function btree2Chunks(grid: ChunkGrid, address: number): Promise<void> {
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
