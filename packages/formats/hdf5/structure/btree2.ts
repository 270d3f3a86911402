/** The newer B-tree of HDF5: records of one size, in inner nodes too. Of links, attributes and chunks. */

import { inGroups } from './btree1.js'
import { type Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'

/** Signature, version, type; and the checksum at the end. */
const NODE_HEAD = 6
const NODE_TAIL = 4
const DEEPEST = 32

export interface Btree2 {
  type: number
  recordBytes: number
  records: number
}

/** What is known of the nodes of a level. */
interface Level {
  /** Records that a node has at most, and all of those below it. */
  most: number
  all: number
  /** Bytes of a number of all records below. */
  allBytes: number
}

/** Goes through all records, in no order. Returns what the header says. */
export async function walkBtree2(
  file: Hdf5Bytes,
  address: number,
  types: readonly number[],
  begin: (tree: Btree2) => void,
  record: (cursor: Cursor, tree: Btree2) => void,
): Promise<void> {
  const header = await file.checked(address, 22 + file.offsetSize + file.lengthSize, 'B-tree')
  header.signature('BTHD', 'B-tree')
  header.skip(1)
  const type = header.u8()
  if (!types.includes(type))
    throw header.fault(`a B-tree is of type ${type}, and should be of ${types.join(' or ')}`)
  const nodeBytes = header.u32()
  const [recordBytes, depth] = [header.u16(), header.u16()]
  header.skip(2)
  const root = header.where()
  const used = header.u16()
  const records = header.length()
  const tree = { type, recordBytes, records }
  if (depth > DEEPEST || recordBytes === 0 || records * recordBytes > file.size)
    throw header.fault(`a B-tree has ${records} records of ${recordBytes} bytes, in ${depth + 1} levels`)
  begin(tree)
  if (root === NOWHERE || records === 0) return
  const levels = levelsOf(header, nodeBytes, recordBytes, depth)
  let nodes: [address: number, used: number][] = [[root, used]]
  let seen = 0
  for (let level = depth; level >= 0; level--) {
    const children = await inGroups(nodes, ([at, count]) => node(file, at, count, level))
    nodes = children.flat()
  }

  async function node(
    file: Hdf5Bytes,
    at: number,
    count: number,
    level: number,
  ): Promise<[number, number][]> {
    seen += count
    if (count > levels[level].most || seen > records)
      throw file.fault(`a B-tree of ${records} records has more`, at)
    const pointer =
      level === 0 ? 0 : file.offsetSize + numberBytes(levels[0].most) + levels[level - 1].allBytes
    const bytes = NODE_HEAD + count * recordBytes + (level === 0 ? 0 : (count + 1) * pointer) + NODE_TAIL
    const cursor = await file.checked(at, bytes, 'B-tree')
    cursor.signature(level === 0 ? 'BTLF' : 'BTIN', 'B-tree')
    cursor.skip(2)
    for (let i = 0; i < count; i++) {
      const next = cursor.at + recordBytes
      record(cursor, tree)
      cursor.at = next
    }
    if (level === 0) return []
    return Array.from({ length: count + 1 }, () => {
      const child: [number, number] = [cursor.where(), cursor.uint(numberBytes(levels[0].most))]
      cursor.skip(levels[level - 1].allBytes)
      return child
    })
  }
}

function levelsOf(header: Cursor, nodeBytes: number, recordBytes: number, depth: number): Level[] {
  const leaf = Math.floor((nodeBytes - NODE_HEAD - NODE_TAIL) / recordBytes)
  if (leaf < 1) throw header.fault(`a B-tree has nodes of ${nodeBytes} bytes for records of ${recordBytes}`)
  const levels: Level[] = [{ most: leaf, all: leaf, allBytes: 0 }]
  for (let level = 1; level <= depth; level++) {
    const below = levels[level - 1]
    const pointer = header.file.offsetSize + numberBytes(leaf) + below.allBytes
    const most = Math.floor((nodeBytes - NODE_HEAD - NODE_TAIL - pointer) / (recordBytes + pointer))
    if (most < 1) throw header.fault(`a B-tree has nodes of ${nodeBytes} bytes, too few`)
    const all = Math.min(2 ** 53, (most + 1) * below.all + most)
    levels.push({ most, all, allBytes: numberBytes(all) })
  }
  return levels
}

/** Bytes that hold a number up to `most`. */
export function numberBytes(most: number): number {
  return Math.floor(Math.log2(Math.max(1, most)) / 8) + 1
}
