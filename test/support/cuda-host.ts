/** The CUDA kernels as a program for the CPU: compiled with g++ and the words of cuda-host.h, once a test file. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { temporaryFolder } from './folder.js'

export const KERNEL_FOLDER = join(import.meta.dirname, '../../src/transform/kernels/cuda')
const SUPPORT = import.meta.dirname
const UNITS = ['picture.cu', 'mix.cu', 'synthetic.cu'].map(name => join(KERNEL_FOLDER, name))

/** Why the kernels can't be compiled here; undefined when they can. */
export const withoutCompiler =
  spawnSync('g++', ['--version']).status === 0 ? undefined : 'there is no g++ to compile kernels with'

/** `address` finds reads and writes out of bounds, `thread` finds missing barriers; undefined: neither is looked for. */
export type Sanitizer = 'address' | 'thread'

/** Compiles the kernels; what comes back carries out launches (bench/gpu/launch.mjs) and gives each one's output. */
export function compileKernels(sanitizer: Sanitizer): (launches: readonly Launch[]) => Buffer[] {
  const program = join(temporaryFolder(), 'kernels')
  const checks = sanitizer === 'address' ? 'address,undefined' : 'thread'
  const made = spawnSync(
    'g++',
    [
      ...['-std=c++17', '-O1', '-Wall', '-Werror', '-Wno-unknown-pragmas', '-ffp-contract=off', '-pthread'],
      ...(canSanitize(checks) ? [`-fsanitize=${checks}`, '-fno-sanitize-recover=all'] : []),
      ...['-I', SUPPORT, '-I', KERNEL_FOLDER, '-include', 'cuda-host.h', '-x', 'c++'],
      ...[...UNITS, join(SUPPORT, 'philox.cu'), join(SUPPORT, 'cuda-host.cpp'), '-o', program],
    ],
    { encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(made.stderr)

  return launches => {
    const input = Buffer.concat(launches.map(({ bytes }) => bytes))
    const ran = spawnSync(program, { input, maxBuffer: 2 ** 30 })
    if (ran.status !== 0) throw new Error(`kernels ended with ${ran.status ?? ran.signal}: ${ran.stderr}`)
    let at = 0
    return launches.map(({ size }) => ran.stdout.subarray(at, (at += size)))
  }
}

/** A launch, and the bytes of its output. */
export interface Launch {
  bytes: Buffer
  size: number
}

/** Some systems have the compiler without the sanitizers' libraries. */
function canSanitize(checks: string): boolean {
  const input = 'int main() { return 0; }'
  const program = join(temporaryFolder(), 'probe')
  return (
    spawnSync('g++', [`-fsanitize=${checks}`, '-x', 'c++', '-', '-o', program], { input }).status === 0 &&
    spawnSync(program).status === 0
  )
}
