/** The CUDA kernels compiled for the CPU, with g++ and the words of cuda-host.h: as a program, or as a library. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from '../folder.js'

export const KERNEL_FOLDER = join(import.meta.dirname, '../../../packages/pixels/transform/kernels/cuda')
const SUPPORT = import.meta.dirname
const UNITS = [
  ...['picture.cu', 'mix.cu', 'synthetic.cu'].map(name => join(KERNEL_FOLDER, name)),
  ...['philox.cu', 'cuda-host.cpp'].map(name => join(SUPPORT, name)),
]
/** As on the GPU, no two operations are contracted into one. */
const FLAGS = [
  ...['-std=c++17', '-Wall', '-Werror', '-Wno-unknown-pragmas', '-ffp-contract=off', '-pthread'],
  ...[
    '-I',
    SUPPORT,
    '-I',
    KERNEL_FOLDER,
    '-I',
    join(KERNEL_FOLDER, '../../../operators'),
    '-include',
    'cuda-host.h',
    '-x',
    'c++',
  ],
]

/** Why the kernels can't be compiled here; undefined when they can. */
export const withoutCompiler =
  spawnSync('g++', ['--version']).status === 0 ? undefined : 'there is no g++ to compile kernels with'

/** `address` finds reads and writes out of bounds, `thread` finds missing barriers; undefined: neither is looked for. */
export type Sanitizer = 'address' | 'thread'

/**
 * Compiles the kernels, once a test file; what comes back carries out launches (bench/gpu/launch.mjs) and gives each
 * one's output.
 */
export function compileKernels(sanitizer: Sanitizer): (launches: readonly Launch[]) => Buffer[] {
  const program = join(temporaryFolder(), 'kernels')
  const checks = sanitizer === 'address' ? 'address,undefined' : 'thread'
  compile([
    '-O1',
    ...(canSanitize(checks) ? [`-fsanitize=${checks}`, '-fno-sanitize-recover=all'] : []),
    ...[...FLAGS, ...UNITS, '-o', program],
  ])

  return launches => {
    const input = Buffer.concat(launches.map(({ bytes }) => bytes))
    const ran = spawnSync(program, { input, maxBuffer: 2 ** 30 })
    if (ran.status !== 0) throw new Error(`kernels ended with ${ran.status ?? ran.signal}: ${ran.stderr}`)
    let at = 0
    return launches.map(({ size }) => ran.stdout.subarray(at, (at += size)))
  }
}

/**
 * The kernels as a shared library, whose one function is `launch` of cuda-host.cpp. It is kept in the temporary folder
 * of the operating system, by a hash of all that it is made of.
 */
export function kernelLibrary(): string {
  const flags = ['-O2', '-fPIC', '-shared', ...FLAGS]
  const hash = createHash('sha256').update(JSON.stringify(flags))
  hash.update(spawnSync('g++', ['--version']).stdout)
  for (const path of sources()) hash.update(path).update(readFileSync(path))
  const kept = join(tmpdir(), `millrace-kernels-${userInfo().uid}`)
  const path = join(kept, `${hash.digest('hex').slice(0, 32)}.so`)
  if (existsSync(path)) return path
  const made = join(temporaryFolder(), 'kernels.so')
  compile([...flags, ...UNITS, '-o', made])
  mkdirSync(kept, { recursive: true, mode: 0o700 })
  // By rename: others may do the same at the same time. (Both folders are temporary ones, of one file system.)
  renameSync(made, path)
  return path
}

function sources(): string[] {
  const all = [KERNEL_FOLDER, SUPPORT].flatMap(folder => readdirSync(folder).map(name => join(folder, name)))
  return all.filter(path => /\.(cuh?|h|cpp)$/.test(path)).sort()
}

function compile(args: readonly string[]): void {
  const made = spawnSync('g++', args, { encoding: 'utf8' })
  if (made.status !== 0) throw new Error(made.stderr)
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
