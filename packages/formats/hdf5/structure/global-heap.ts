/** Global heaps: collections of the values of varying length. A reference names a collection, and an object in it. */
import type { Hdf5Bytes } from './bytes.js'

/** Bytes of a collection that are read at first: as many as most have. */
const FIRST_LOOK = 4096
/** Collections whose objects are remembered. */
const MOST_KEPT = 256

/** Where an object lies in the file. */
export interface HeapObject {
  offset: number
  bytes: number
}

export class GlobalHeaps {
  private readonly collections = new Map<number, Map<number, HeapObject>>()

  constructor(private readonly file: Hdf5Bytes) {}

  async object(collection: number, index: number): Promise<HeapObject> {
    let objects = this.collections.get(collection)
    if (objects === undefined) {
      objects = await readCollection(this.file, collection)
      if (this.collections.size >= MOST_KEPT) this.collections.delete(this.collections.keys().next().value!)
      this.collections.set(collection, objects)
    }
    const found = objects.get(index)
    if (found === undefined) throw this.file.fault(`a heap has no object ${index}`, collection)
    return found
  }
}

async function readCollection(file: Hdf5Bytes, address: number): Promise<Map<number, HeapObject>> {
  const head = await file.cursor(address, 8 + file.lengthSize)
  head.signature('GCOL', 'heap of values')
  head.skip(4)
  const bytes = head.length()
  file.offsetOf(address, bytes)
  const objects = new Map<number, HeapObject>()
  const step = 8 + file.lengthSize
  let from = 0
  let held = await file.at(address, Math.min(bytes, FIRST_LOOK))
  for (let at = head.bytes.length; at + step <= bytes; ) {
    // Large values are not read: the next object's head is looked at where it lies.
    if (at - from + step > held.length) {
      from = at
      held = await file.at(address + from, Math.min(bytes - from, FIRST_LOOK))
    }
    const index = held.readUInt16LE(at - from)
    if (index === 0) break // what is free
    const size = Number(
      file.lengthSize === 8
        ? held.readBigUInt64LE(at - from + 8)
        : held.readUIntLE(at - from + 8, file.lengthSize),
    )
    if (at + step + size > bytes) throw file.fault('a value reaches beyond its heap', address + at)
    objects.set(index, { offset: file.offsetOf(address + at + step, size), bytes: size })
    at += step + Math.ceil(size / 8) * 8
  }
  return objects
}
