/** The class of a character (class-table.ts), as the scanners of the kernel know it. 0: neither letter, mark, number nor space. */
import { inflateRawSync } from 'node:zlib'
import { CLASS_TABLE } from './class-table.js'

/** Places of blocks, of 128 characters each. */
const PLACES = 8704
let table: Buffer | undefined

export function classOf(point: number): number {
  table ??= inflateRawSync(Buffer.from(CLASS_TABLE, 'base64'))
  return table[2 * PLACES + 128 * table.readUInt16LE(2 * (point >> 7)) + (point & 127)]
}
