/**
 * The module that adds what packages above the core bring: formats, operators (packages/all/registry.ts). Threads and processes that the
 * core starts import it before they work.
 */
import { fileURLToPath } from 'node:url'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Inherited by all threads that are started from now on. Two copies of the package in one process have one each. */
const KEY = `registry of ${import.meta.url}`
/** Of processes of ours. */
const VARIABLE = 'MILLRACE_REGISTRY'

/** Says which module it is. */
export function useRegistry(module: URL): void {
  setEnvironmentData(KEY, module.href)
}

/** Loads it, in a thread or process that one with a registry has started. */
export async function loadRegistry(): Promise<void> {
  const module = getEnvironmentData(KEY) ?? process.env[VARIABLE]
  if (module !== undefined) await import(module as string)
}

/** What the environment of a process of ours has besides. */
export function registryVariable(): Record<string, string> {
  const module = getEnvironmentData(KEY)
  return module === undefined ? {} : { [VARIABLE]: module as string }
}

let kernels = ''

/** Says where the CUDA kernels of the device stage lie. */
export function useCudaKernels(folder: URL): void {
  kernels = fileURLToPath(folder)
}

export const cudaKernels = (): string => kernels
