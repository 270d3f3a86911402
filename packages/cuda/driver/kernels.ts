/**
 * Our kernels, compiled once for each GPU architecture. A cubin lies in the cache folder under a hash of everything
 * that it depends on, so a new version of a kernel is a new file, and nothing ever has to be thrown away in a hurry.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeWhole } from '../../core/system/files/draft.js'
import { makeFolder } from '../../core/system/files/folder.js'
import { type CudaSource, compileCubin } from './libraries/nvrtc.js'
import { COMPILE_OPTIONS } from './numbers.js'

/** The folder of the `.cu` and `.cuh` files that come with the package. */
export const KERNELS = fileURLToPath(new URL('../../pixels/transform/kernels/cuda/', import.meta.url))

/** The options of the compiler for an architecture, such as sm_90. */
export function compileOptions(architecture: string): string[] {
  return [`--gpu-architecture=${architecture}`, ...COMPILE_OPTIONS]
}

/** The folders of operators, of which some have a `step.cuh`. */
const OPERATORS = fileURLToPath(new URL('../../pixels/operators/', import.meta.url))

/** Headers by name: all `.cuh` files of a folder and, for our own programs, of operators. */
function headersOf(folder: string): Record<string, string> {
  const read = (from: string, names: string[]) =>
    names.sort().map(name => [name, readFileSync(join(from, name), 'utf8')])
  const beside = readdirSync(folder).filter(name => name.endsWith('.cuh'))
  const steps = readdirSync(OPERATORS, { recursive: true, encoding: 'utf8' })
  return Object.fromEntries([
    ...read(folder, beside),
    ...(folder === KERNELS
      ? read(
          OPERATORS,
          steps.filter(name => name.endsWith('.cuh')),
        )
      : []),
  ])
}

/** Our own headers, for programs of the user's. */
export function ourHeaders(): Record<string, string> {
  return headersOf(KERNELS)
}

/** A program of a folder, with the headers beside it. */
export function readSource(name: string, folder = KERNELS): CudaSource {
  return { name, text: readFileSync(join(folder, name), 'utf8'), headers: headersOf(folder) }
}

/**
 * The file name of a compiled program: 32 hex digits of a hash over options and sources, and the architecture. The
 * Python client makes the same name of the same program.
 */
export function cubinName({ text, headers = {} }: CudaSource, architecture: string): string {
  const hash = createHash('sha256')
  const parts = [...compileOptions(architecture), text]
  for (const header of Object.keys(headers).sort()) parts.push(header, headers[header])
  for (const part of parts) hash.update(part).update('\0')
  return `${hash.digest('hex').slice(0, 32)}-${architecture}.cubin`
}

/**
 * The machine code of a program, handed to `load`: from the cache folder, or compiled now (16–70 ms for a small one).
 * If `load` refuses the cached one, the program is compiled again.
 */
export function withCubin<T>(
  source: CudaSource,
  architecture: string,
  cache: string,
  load: (cubin: Uint8Array) => T,
): T {
  const folder = join(cache, 'kernels')
  const path = join(folder, cubinName(source, architecture))
  try {
    return load(readFileSync(path))
  } catch {
    // Not there yet, not readable, or damaged: it is made.
  }
  const cubin = compileCubin(source, compileOptions(architecture))
  try {
    makeFolder(folder)
    writeWhole(path, cubin)
  } catch {
    // A cache folder that can't be written costs compiling each time, and nothing else.
  }
  return load(cubin)
}
