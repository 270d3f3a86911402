/** The older B-tree of HDF5: of the members of a group, or of the chunks of a dataset. */
import { type Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'

const HEAD = 8

export interface Btree1 {
  /** 0: a group's; 1: of chunks. */
  kind: 0 | 1
  /** Bytes of a key. */
  key: number
  /** Told of each entry of the leaves: a cursor at its key, and what it points at. */
  leaf(key: Cursor, child: number): void
}

/** Deeper trees than any file can have. */
const DEEPEST = 32

/** Goes through all leaves, in order. Siblings are read together. */
export async function walkBtree1(file: Hdf5Bytes, root: number, tree: Btree1): Promise<void> {
  if (root === NOWHERE) return
  // Every node takes its bytes of the file: a tree with more of them has a circle.
  const most = Math.ceil(file.size / (HEAD + 2 * file.offsetSize))
  let level = [root]
  let nodes = 0
  let depth: number | undefined
  while (level.length > 0) {
    nodes += level.length
    if (nodes > most) throw file.fault('a B-tree has more nodes than the file has room for', root)
    const below: number[] = []
    const read = await inGroups(level, address => readNode(file, address, tree))
    for (const [node, at] of read) {
      depth ??= at
      if (at !== depth || at > DEEPEST)
        throw node.fault(`a node of a B-tree is of level ${at}, and should be of ${depth}`, 0)
      const used = node.left === 0 ? 0 : (node.left - tree.key) / (tree.key + file.offsetSize)
      for (let i = 0; i < used; i++) {
        const key = node.at
        node.skip(tree.key)
        const child = node.where()
        const next = node.at
        if (at > 0) below.push(child)
        else {
          node.at = key
          tree.leaf(node, child)
          node.at = next
        }
      }
    }
    level = below
    depth = depth! - 1
    if (level.length > 0 && depth < 0) throw file.fault('a B-tree goes below its leaves', root)
  }
}

async function readNode(file: Hdf5Bytes, address: number, { kind, key }: Btree1): Promise<[Cursor, number]> {
  const head = await file.cursor(address, HEAD + 2 * file.offsetSize)
  head.signature('TREE', 'B-tree')
  const [type, level, used] = [head.u8(), head.u8(), head.u16()]
  if (type !== kind) throw head.fault(`a B-tree is of type ${type}, and should be of ${kind}`, 4)
  const size = used === 0 ? 0 : used * (key + file.offsetSize) + key
  return [await file.cursor(address + head.bytes.length, size), level]
}

/** As many nodes are asked for at the same time. */
const TOGETHER = 64

/** Does the work for all, some of them at the same time; the results in order. */
export async function inGroups<In, Out>(
  list: readonly In[],
  work: (one: In) => Promise<Out>,
): Promise<Out[]> {
  const out: Out[] = []
  for (let from = 0; from < list.length; from += TOGETHER)
    out.push(...(await Promise.all(list.slice(from, from + TOGETHER).map(work))))
  return out
}
