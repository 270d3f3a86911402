/**
 * The kernels of codecs, in WebAssembly, and the memory that they work in, one of each for a thread. What a kernel reads is copied there,
 * and what it has made is copied out.
 */
import { readFileSync } from 'node:fs'
import { DecodeError } from '../../basics/errors.js'

/** The first bytes have the tables of checksums. */
export const TABLES = 0
/** Where what is copied in may begin. */
export const START = 16 << 10
/** Bytes that a kernel may read or write over the end of what it is given. */
export const SLACK = 64
/** A thread keeps a memory of so many bytes; a larger one is given back after use. */
const KEPT_BYTES = 64 << 20
/** Addresses in a larger one are no small integers any more. */
const MOST_BYTES = 2 ** 31 - (64 << 10)
const PAGE = 64 << 10

let memory: WebAssembly.Memory | undefined
let bytes: Uint8Array<SharedArrayBuffer> | undefined
const kernels = new Map<string, unknown>()

/** The memory, with `size` bytes from START on at least. */
export function workspace(size: number): Uint8Array {
  const wanted = START + size
  if (bytes !== undefined && bytes.length >= wanted) return bytes
  if (wanted > MOST_BYTES)
    throw new DecodeError(`takes ${wanted} bytes to be decompressed, which is too much`)
  const pages = Math.ceil(wanted / PAGE)
  if (memory === undefined) memory = new WebAssembly.Memory({ initial: pages, maximum: 65536, shared: true })
  else memory.grow(pages - memory.buffer.byteLength / PAGE)
  return (bytes = new Uint8Array(memory.buffer as unknown as SharedArrayBuffer))
}

/** The caller has copied out what it made: memory that is too large to keep goes, and its kernels with it. */
export function release(): void {
  if (bytes === undefined || bytes.length <= KEPT_BYTES) return
  memory = bytes = undefined
  kernels.clear()
}

/** The functions of kernel `name`, over the workspace; `T` declares them. */
export function kernel<T>(name: string): T {
  let found = kernels.get(name)
  if (found === undefined) {
    workspace(0)
    const code = readFileSync(new URL(`./${name}.wasm`, import.meta.url))
    found = new WebAssembly.Instance(new WebAssembly.Module(code), {
      env: { memory: memory as WebAssembly.Memory },
    }).exports
    kernels.set(name, found)
  }
  return found as T
}
