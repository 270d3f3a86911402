/**
 * Writes small HDF5 files whose data may lie anywhere, in the newest form of the format: contiguous datasets of bytes, and chunked
 * ones that were never written.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { lookup3 } from '../../../core/codec/checksum.js'

export interface Written {
  name: string
  dims: number[]
  /** Where its data begin. */
  offset: number
  /** Bytes at places of the file; what is between them takes no room on the disk. */
  data: { at: number; bytes: Uint8Array }[]
  /** Sides of its chunks, none of which is written; `offset` and `data` don't count then. */
  chunk?: number[]
}

const u8 = (...bytes: number[]): Buffer => Buffer.from(bytes)
const u16 = (n: number): Buffer => u8(n & 255, n >> 8)
const u32 = (n: number): Buffer => Buffer.from(Uint32Array.of(n).buffer)
const u64 = (n: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(n)).buffer)
const summed = (...parts: Buffer[]): Buffer => {
  const bytes = Buffer.concat(parts)
  return Buffer.concat([bytes, u32(lookup3(bytes))])
}
const message = (type: number, body: Buffer): Buffer =>
  Buffer.concat([u8(type), u16(body.length), u8(0), body])
const header = (...messages: Buffer[]): Buffer => {
  const bytes = Buffer.concat(messages)
  return summed(Buffer.from('OHDR'), u8(2, 1), u16(bytes.length), bytes)
}

const NOWHERE = Buffer.alloc(8, 255)

function dataset({ dims, offset, chunk }: Written): Buffer {
  const bytes = dims.reduce((a, b) => a * b, 1)
  return header(
    message(1, Buffer.concat([u8(2, dims.length, 0, 1), ...dims.map(u64)])),
    message(3, Buffer.concat([u8(0x10, 0, 0, 0), u32(1), u16(0), u16(8)])),
    message(
      8,
      chunk === undefined
        ? Buffer.concat([u8(3, 1), u64(offset), u64(bytes)])
        : Buffer.concat([u8(3, 2, chunk.length + 1), NOWHERE, ...chunk.map(u32), u32(1)]),
    ),
  )
}

export function writeHdf5(path: string, datasets: Written[]): void {
  const headers = datasets.map(dataset)
  const SUPER = 48
  const link = ({ name }: Written, at: number): Buffer =>
    message(6, Buffer.concat([u8(1, 0, name.length), Buffer.from(name), u64(at)]))
  const rootBytes = header(...datasets.map(one => link(one, 0))).length
  let at = SUPER + rootBytes
  const places = headers.map(({ length }) => (at += length) - length)
  const root = header(...datasets.map((one, i) => link(one, places[i])))
  const end = Math.max(
    at,
    ...datasets.map(({ dims, offset, chunk }) => (chunk ? 0 : offset + dims.reduce((a, b) => a * b, 1))),
  )
  const signature = Buffer.from('\x89HDF\r\n\x1a\n', 'latin1')
  const first = summed(signature, u8(2, 8, 8, 0), u64(0), NOWHERE, u64(end), u64(SUPER))
  const fd = openSync(path, 'w')
  try {
    ftruncateSync(fd, end)
    writeSync(fd, Buffer.concat([first, root, ...headers]), 0, undefined, 0)
    for (const { data } of datasets)
      for (const { at, bytes } of data) writeSync(fd, bytes, 0, bytes.length, at)
  } finally {
    closeSync(fd)
  }
}
