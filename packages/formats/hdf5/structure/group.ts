/** The members of a group: by a symbol table (older files), by link messages, or by a heap of links (many members). */
import { walkBtree1 } from './btree1.js'
import { walkBtree2 } from './btree2.js'
import { Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'
import { FractalHeap } from './fractal-heap.js'
import { again, MESSAGE, type Message } from './object-header.js'
import { messageOf } from './shared.js'

export type Link = { name: string } & ({ to: number } | { soft: string } | { external: string })

/** Whether an object's messages are those of a group. */
export function isGroup(messages: readonly Message[]): boolean {
  const types: readonly number[] = [MESSAGE.symbolTable, MESSAGE.linkInfo, MESSAGE.link, MESSAGE.groupInfo]
  return messages.some(({ type }) => types.includes(type))
}

export async function linksOf(file: Hdf5Bytes, messages: readonly Message[]): Promise<Link[]> {
  const table = await messageOf(messages, MESSAGE.symbolTable)
  if (table !== undefined) return symbols(file, table.where(), table.where())
  const links = messages.filter(({ type }) => type === MESSAGE.link).map(({ body }) => readLink(again(body)))
  const info = await messageOf(messages, MESSAGE.linkInfo)
  return info === undefined ? links : [...links, ...(await denseLinks(file, info))]
}

function readLink(cursor: Cursor): Link {
  cursor.skip(1)
  const flags = cursor.u8()
  const kind = (flags & 8) !== 0 ? cursor.u8() : 0
  if ((flags & 4) !== 0) cursor.skip(8)
  if ((flags & 16) !== 0) cursor.skip(1)
  const name = cursor.take(cursor.uint(1 << (flags & 3))).toString('utf8')
  if (kind === 0) return { name, to: cursor.where() }
  const value = cursor.take(cursor.u16())
  if (kind === 1) return { name, soft: value.toString('utf8') }
  return { name, external: value.toString('utf8').replace(/^\0/, '').split('\0').filter(Boolean).join(':') }
}

/** Links in a heap, found by a B-tree of their names' hashes. */
async function denseLinks(file: Hdf5Bytes, info: Cursor): Promise<Link[]> {
  info.skip(1)
  if ((info.u8() & 1) !== 0) info.skip(8)
  const [heapAt, names] = [info.where(), info.where()]
  if (heapAt === NOWHERE || names === NOWHERE) return []
  const ids = await heapIds(file, names, [5], 4)
  const heap = await FractalHeap.open(file, heapAt)
  const links: Link[] = []
  for (const id of ids) links.push(readLink(await heap.object(id)))
  return links
}

/** The ids of objects in a heap, of all records of a B-tree; `before`: bytes of a record before its id. */
export async function heapIds(
  file: Hdf5Bytes,
  tree: number,
  types: readonly number[],
  before: number,
): Promise<Cursor[]> {
  const ids: Cursor[] = []
  await walkBtree2(
    file,
    tree,
    types,
    () => {},
    (record, { recordBytes }) => {
      record.skip(before)
      ids.push(record.part(recordBytes - before))
    },
  )
  return ids
}

/** Members by a symbol table: a B-tree of nodes of entries, whose names lie in a local heap. */
async function symbols(file: Hdf5Bytes, tree: number, heapAt: number): Promise<Link[]> {
  const heap = await localHeap(file, heapAt)
  const nodes: number[] = []
  await walkBtree1(file, tree, { kind: 0, key: file.lengthSize, leaf: (_, child) => nodes.push(child) })
  const links: Link[] = []
  for (const address of nodes) {
    const head = await file.cursor(address, 8)
    head.signature('SNOD', 'symbol table')
    head.skip(2)
    const count = head.u16()
    const entries = await file.cursor(address + 8, count * (2 * file.offsetSize + 24))
    for (let i = 0; i < count; i++) {
      const name = heap(entries.uint(file.offsetSize))
      const to = entries.where()
      const kind = entries.u32()
      entries.skip(4)
      const scratch = entries.part(16)
      links.push(kind === 2 ? { name, soft: heap(scratch.u32()) } : { name, to })
    }
  }
  return links
}

/** The names in a local heap, by their offsets. */
async function localHeap(file: Hdf5Bytes, address: number): Promise<(offset: number) => string> {
  const head = await file.cursor(address, 8 + 2 * file.lengthSize + file.offsetSize)
  head.signature('HEAP', 'heap of names')
  head.skip(4)
  const bytes = head.length()
  head.skip(file.lengthSize)
  const data = await file.cursor(head.where(), bytes)
  return offset => {
    const cursor = new Cursor(file, data.bytes, data.address)
    cursor.skip(offset)
    return cursor.textToNul()
  }
}
