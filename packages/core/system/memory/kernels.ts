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
