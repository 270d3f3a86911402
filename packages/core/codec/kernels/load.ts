/**
 * The kernels of codecs, in WebAssembly, and the memory that they work in, one of each for a thread. What a kernel reads is copied there,
 * and what it has made is copied out.
 */
import { readFileSync } from 'node:fs'

/** The first bytes have the tables of checksums. */
export const TABLES = 0
/** Where what is copied in may begin. */
export const START = 16 << 10
/** Bytes that a kernel may read or write over the end of what it is given. */
export const SLACK = 64
/** A kernel is not used where it would need more: the memory is kept by the thread. */
const MOST = 64 << 20
const PAGE = 64 << 10

let memory: WebAssembly.Memory | undefined
let bytes: Uint8Array<SharedArrayBuffer> | undefined
const kernels = new Map<string, unknown>()

/** The memory, with `size` bytes from START on at least; undefined where that would be too many. */
export function workspace(size: number): Uint8Array | undefined {
  const wanted = START + size
  if (bytes !== undefined && bytes.length >= wanted) return bytes
  if (wanted > MOST) return undefined
  const pages = Math.ceil(wanted / PAGE)
  if (memory === undefined) memory = new WebAssembly.Memory({ initial: pages, maximum: 65536, shared: true })
  else memory.grow(pages - memory.buffer.byteLength / PAGE)
  return (bytes = new Uint8Array(memory.buffer as unknown as SharedArrayBuffer))
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
