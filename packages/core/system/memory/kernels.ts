/**
 * Compiled kernels. A kernel imports its memory, the one that holds slots and workspaces, and takes plain byte offsets into it. A
 * module is compiled once a thread, and instantiated once for each memory.
 */
import { readFileSync } from 'node:fs'

/** What gives the functions of a kernel over a memory; `T` declares them. */
export type KernelLoader = <T>(name: string, memory: WebAssembly.Memory) => T

/** The kernels whose .wasm files lie in `folder`. */
export function kernelsIn(folder: URL): KernelLoader {
  const modules = new Map<string, WebAssembly.Module>()
  const instances = new WeakMap<WebAssembly.Memory, Map<string, unknown>>()
  const compiled = (name: string): WebAssembly.Module => {
    let module = modules.get(name)
    if (module === undefined) {
      module = new WebAssembly.Module(readFileSync(new URL(`${name}.wasm`, folder)))
      modules.set(name, module)
    }
    return module
  }
  return <T>(name: string, memory: WebAssembly.Memory) => {
    let ofMemory = instances.get(memory)
    if (ofMemory === undefined) instances.set(memory, (ofMemory = new Map()))
    let functions = ofMemory.get(name)
    if (functions === undefined) {
      functions = new WebAssembly.Instance(compiled(name), { env: { memory } }).exports
      ofMemory.set(name, functions)
    }
    return functions as T
  }
}

const PAGE = 64 << 10
/** As much as WebAssembly can address. */
const MOST_PAGES = 65536

/** A memory for one kernel, of so many bytes at first. */
export function kernelMemory(bytes: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE), maximum: MOST_PAGES, shared: true })
}

/** Makes a memory at least so many bytes long: its buffer is another then. */
export function growMemory(memory: WebAssembly.Memory, bytes: number): void {
  const missing = Math.ceil(bytes / PAGE) - memory.buffer.byteLength / PAGE
  if (missing > 0) memory.grow(missing)
}
