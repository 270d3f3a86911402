/**
 * Messages of an object's header that lie elsewhere: in another object, as a named type does, or in a heap of messages that
 * objects of the file have in common. Tables of such heaps stand in the superblock's extension, one for some types of messages each.
 */
import { type Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'
import { FractalHeap } from './fractal-heap.js'
import { again, MESSAGE, type Message, readMessages } from './object-header.js'

/** The message of a type; undefined where there is none. */
export async function messageOf(messages: readonly Message[], type: number): Promise<Cursor | undefined> {
  const found = messages.find(message => message.type === type)
  return found && bodyOf(found)
}

/** What a message says, wherever it lies. */
export async function bodyOf({ type, shared, body }: Message): Promise<Cursor> {
  return shared ? fromElsewhere(again(body), type) : again(body)
}

const IN_HEAP = 1
const HEAP_ID = 8

/** Follows a reference to a message of a type. */
export async function fromElsewhere(reference: Cursor, type: number): Promise<Cursor> {
  const { file } = reference
  const [version, kind] = [reference.u8(), reference.u8()]
  if (version > 1 && kind === IN_HEAP) return fromHeap(reference.part(HEAP_ID), type)
  if (version === 1) reference.skip(6)
  const address = reference.where()
  const messages = await readMessages(file, address)
  const found = messages.find(message => message.type === type && !message.shared)
  if (found === undefined) throw file.fault('what it refers to is not there', address)
  return again(found.body)
}

/** A heap, and the types of messages in it: bit i, those of type i. */
interface SharedHeap {
  types: number
  address: number
  opened?: Promise<FractalHeap>
}

const heaps = new WeakMap<Hdf5Bytes, Promise<SharedHeap[]>>()

async function fromHeap(id: Cursor, type: number): Promise<Cursor> {
  const { file } = id
  let known = heaps.get(file)
  if (known === undefined) heaps.set(file, (known = readTable(file)))
  const heap = (await known).find(({ types }) => (types & (1 << type)) !== 0)
  if (heap === undefined || heap.address === NOWHERE)
    throw id.fault(`a message of type ${type} is in no heap of shared messages`)
  heap.opened ??= FractalHeap.open(file, heap.address)
  return (await heap.opened).object(id)
}

async function readTable(file: Hdf5Bytes): Promise<SharedHeap[]> {
  if (file.extension === NOWHERE) return []
  const found = (await readMessages(file, file.extension)).find(({ type }) => type === MESSAGE.sharedTable)
  if (found === undefined) return []
  const body = again(found.body)
  body.skip(1)
  const [address, count] = [body.where(), body.u8()]
  // Version, kind of index, types, three sizes, number of messages, index, heap.
  const entry = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * file.offsetSize
  const table = await file.checked(address, 4 + count * entry + 4, 'table of shared messages')
  table.signature('SMTB', 'table of shared messages')
  return Array.from({ length: count }, () => {
    table.skip(2)
    const types = table.u16()
    table.skip(4 + 2 + 2 + 2 + file.offsetSize)
    return { types, address: table.where() }
  })
}
