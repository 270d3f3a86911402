/**
 * The messages of an object's header: what a group or a dataset says of itself. Versions 1 and 2, with continuations.
 * shared.ts fetches those that lie elsewhere.
 */
import { Cursor, type Hdf5Bytes } from './bytes.js'

/** Types of messages that are looked at. */
export const MESSAGE = {
  dataspace: 0x01,
  linkInfo: 0x02,
  datatype: 0x03,
  oldFill: 0x04,
  fill: 0x05,
  link: 0x06,
  external: 0x07,
  layout: 0x08,
  groupInfo: 0x0a,
  pipeline: 0x0b,
  attribute: 0x0c,
  continuation: 0x10,
  symbolTable: 0x11,
  sharedTable: 0x0f,
  attributeInfo: 0x15,
} as const

export interface Message {
  type: number
  body: Cursor
  /** The body is in another object, or in a table of shared messages. */
  shared: boolean
}

/** Blocks that the header of an object may have: cycles end here. */
const MOST_BLOCKS = 4096

export async function readMessages(file: Hdf5Bytes, address: number): Promise<Message[]> {
  const start = await file.cursor(address, Math.min(64, Math.max(0, file.size - file.base - address)))
  const isNew = start.bytes.toString('latin1', 0, 4) === 'OHDR'
  return isNew ? newHeader(file, start) : oldHeader(file, start)
}

/** A cursor from the beginning of the same bytes: a message may be read more than once. */
export function again({ file, bytes, address }: Cursor): Cursor {
  return new Cursor(file, bytes, address)
}

async function oldHeader(file: Hdf5Bytes, start: Cursor): Promise<Message[]> {
  const version = start.u8()
  if (version !== 1) throw start.fault(`an object's header has version ${version}`, 0)
  start.skip(1)
  const count = start.u16()
  start.skip(4)
  const size = start.u32()
  const messages: Message[] = []
  // The prefix has 12 bytes, and 4 to fill up.
  const blocks: [address: number, length: number][] = [[start.address + 16, size]]
  for (let b = 0; b < blocks.length && messages.length < count; b++) {
    if (b > MOST_BLOCKS) throw start.fault("an object's header has no end", 0)
    const block = await file.cursor(...blocks[b])
    while (block.left >= 8 && messages.length < count) {
      const [type, length, flags] = [block.u16(), block.u16(), block.u8()]
      block.skip(3)
      const body = block.part(length)
      messages.push({ type, body, shared: (flags & 2) !== 0 })
      if (type === MESSAGE.continuation) blocks.push([body.where(), body.length()])
    }
  }
  return messages
}

async function newHeader(file: Hdf5Bytes, start: Cursor): Promise<Message[]> {
  start.skip(4)
  const version = start.u8()
  if (version !== 2) throw start.fault(`an object's header has version ${version}`, 0)
  const flags = start.u8()
  if ((flags & 0x20) !== 0) start.skip(16)
  if ((flags & 0x10) !== 0) start.skip(4)
  const size = start.uint(1 << (flags & 3))
  const messages: Message[] = []
  const first = await file.checked(start.address, start.at + size + 4, "object's header")
  first.skip(start.at)
  const blocks = [first]
  for (let b = 0; b < blocks.length; b++) {
    if (b > MOST_BLOCKS) throw start.fault("an object's header has no end", 0)
    const block = blocks[b]
    const head = (flags & 4) !== 0 ? 6 : 4
    while (block.left >= head) {
      const [type, length, own] = [block.u8(), block.u16(), block.u8()]
      if ((flags & 4) !== 0) block.skip(2)
      const body = block.part(length)
      messages.push({ type, body, shared: (own & 2) !== 0 })
      if (type !== MESSAGE.continuation) continue
      const [address, bytes] = [body.where(), body.length()]
      if (bytes < 8) throw body.fault("a part of an object's header is too short")
      const more = await file.checked(address, bytes, "object's header")
      more.signature('OCHK', "object's header")
      blocks.push(more)
    }
  }
  return messages
}
