/** B-trees of HDF5 that were made to be endless. */
import { expect, it } from 'vitest'
import { walkBtree1 } from '../../hdf5/structure/btree1.js'
import { Hdf5Bytes } from '../../hdf5/structure/bytes.js'

const KEY = 24
const NODE = 1024
const CHILDREN = 16

/** One node a level, the leaf first; all entries of a node lead to the one node below it. */
function narrowing(levels: number): Buffer {
  const bytes = Buffer.alloc(levels * NODE)
  for (let level = 0; level < levels; level++) {
    const at = level * NODE
    bytes.write('TREE', at)
    bytes.set([1, level, CHILDREN, 0], at + 4)
    for (let i = 0; i < CHILDREN; i++)
      bytes.writeBigUInt64LE(BigInt(Math.max(0, at - NODE)), at + 24 + KEY + i * (KEY + 8))
  }
  return bytes
}

it('a tree has no more nodes than its file has room for, though each is reached in many ways', async () => {
  const bytes = narrowing(5)
  const read = async (into: Uint8Array, at: number) => bytes.copy(into, 0, at, at + into.length)
  const file = new Hdf5Bytes('tree.h5', bytes.length, read, 0)
  let leaves = 0
  const walk = walkBtree1(file, 4 * NODE, { kind: 1, key: KEY, leaf: () => leaves++ })
  await expect(walk).rejects.toThrow(/tree\.h5 is damaged .*more nodes than the file has room for/)
  expect(leaves).toBe(0)
})
