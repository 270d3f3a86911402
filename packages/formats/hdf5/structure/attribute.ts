/** Attributes of a dataset: the few that say what it is for, of netCDF and of dimension scales. */
import { type Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'
import { type ElementType, elementBytes, readDatatype } from './datatype.js'
import { FractalHeap } from './fractal-heap.js'
import { heapIds } from './group.js'
import { readDataspace } from './messages.js'
import { MESSAGE, type Message } from './object-header.js'
import { bodyOf, fromElsewhere, messageOf } from './shared.js'

export interface Attribute {
  name: string
  type: ElementType
  dims: number[]
  data: Cursor
}

const MOST_ATTRIBUTES = 65536

/** The attributes of these names. */
export async function attributesOf(
  file: Hdf5Bytes,
  messages: readonly Message[],
  names: readonly string[],
): Promise<Map<string, Attribute>> {
  const bodies = await Promise.all(messages.filter(({ type }) => type === MESSAGE.attribute).map(bodyOf))
  const info = await messageOf(messages, MESSAGE.attributeInfo)
  if (info !== undefined) {
    info.skip(1)
    if ((info.u8() & 1) !== 0) info.skip(2)
    const [heapAt, tree] = [info.where(), info.where()]
    if (heapAt !== NOWHERE && tree !== NOWHERE) {
      const heap = await FractalHeap.open(file, heapAt)
      const ids = await heapIds(file, tree, [8], 0)
      if (ids.length > MOST_ATTRIBUTES) throw info.fault(`a dataset has ${ids.length} attributes`)
      for (const id of ids) bodies.push(await heap.object(id.part(8)))
    }
  }
  const found = new Map<string, Attribute>()
  for (const body of bodies) {
    const attribute = await readAttribute(body, names)
    if (attribute !== undefined) found.set(attribute.name, attribute)
  }
  return found
}

async function readAttribute(cursor: Cursor, names: readonly string[]): Promise<Attribute | undefined> {
  const version = cursor.u8()
  const flags = cursor.u8()
  const sizes = [cursor.u16(), cursor.u16(), cursor.u16()]
  if (version < 1 || version > 3) throw cursor.fault(`an attribute has version ${version}`)
  if (version === 3) cursor.skip(1)
  // Version 1 fills each part up to a multiple of 8 bytes.
  const [nameBytes, typeBytes, spaceBytes] = sizes.map(n => (version === 1 ? Math.ceil(n / 8) * 8 : n))
  const name = cursor.text(nameBytes)
  if (!names.includes(name)) return undefined
  const [typeAt, spaceAt] = [cursor.part(typeBytes), cursor.part(spaceBytes)]
  const type = readDatatype((flags & 1) !== 0 ? await fromElsewhere(typeAt, MESSAGE.datatype) : typeAt)
  const space = (flags & 2) !== 0 ? await fromElsewhere(spaceAt, MESSAGE.dataspace) : spaceAt
  const { dims } = readDataspace(space)
  const bytes = dims.reduce((product, n) => product * n, elementBytes(type))
  return { name, type, dims, data: cursor.part(Math.min(cursor.left, bytes)) }
}

/** The text of an attribute, where it is a fixed one. */
export function textOf(attribute: Attribute | undefined): string | undefined {
  return attribute?.type.is === 'text' ? attribute.data.text(attribute.data.left) : undefined
}
