/**
 * Loads compiled kernels. A kernel imports its memory, the one that holds slots and workspaces, and takes plain
 * byte offsets into it. A module is compiled once a thread, and instantiated once for each memory.
 */
import { readFileSync } from 'node:fs'

const modules = new Map<string, WebAssembly.Module>()
const instances = new WeakMap<WebAssembly.Memory, Map<string, unknown>>()

/** The functions of kernel `name` over `memory`; `T` declares them. */
export function kernel<T>(name: string, memory: WebAssembly.Memory): T {
  let ofMemory = instances.get(memory)
  if (ofMemory === undefined) instances.set(memory, (ofMemory = new Map()))
  let functions = ofMemory.get(name)
  if (functions === undefined) {
    functions = new WebAssembly.Instance(compiled(name), { env: { memory } }).exports
    ofMemory.set(name, functions)
  }
  return functions as T
}

function compiled(name: string): WebAssembly.Module {
  let module = modules.get(name)
  if (module === undefined) {
    module = new WebAssembly.Module(readFileSync(new URL(`./${name}.wasm`, import.meta.url)))
    modules.set(name, module)
  }
  return module
}
