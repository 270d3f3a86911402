/** The chunks of a dataset, by whichever index the file has. */
import { NOWHERE } from '../structure/bytes.js'
import type { DataLayout } from '../structure/messages.js'
import { extensibleArrayChunks, fixedArrayChunks, implicitChunks } from './arrays.js'
import type { ChunkGrid } from './grid.js'
import { btree1Chunks, btree2Chunks } from './trees.js'

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
