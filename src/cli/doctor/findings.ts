/** What `doctor` finds: one look at each thing that Millrace needs or uses, with a verdict and what to do. */
import { statfsSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import type { CodecLibrary } from '../../codec/slow.js'
import { deviceNode } from '../../system/process/gpu-places.js'
import { autoWorkers, fileHandleLimit, memoryLimit, usableCores } from '../../system/process/limits.js'
import { bytes, count, counted } from '../units.js'
import type { Finding } from './finding.js'
import { coreFacts, coreFindings } from './findings-cores.js'
import { gpuFindings } from './findings-gpu.js'
import { ENOUGH_MEMORY, type GpuPlace, hostFindings, moreMemory } from './findings-host.js'
import { hostFacts } from './host-facts.js'

const LEAST_NODE = [20, 19]
/** Files that a run with many shards and makers may have open. */
const ENOUGH_HANDLES = 1024

export async function findings(): Promise<Finding[]> {
  // A second's look at the machine, while the rest is tried.
  const host = hostFacts()
  const found = await installation()
  const cores = process.platform === 'linux' ? coreFindings(await coreFacts()) : []
  return [...found, ...cores, ...hostFindings(await host, gpuPlaces(found))]
}

/** Where the GPUs are that were found. */
function gpuPlaces(found: readonly Finding[]): GpuPlace[] {
  return found.flatMap(({ data }) => {
    const place = typeof data?.bus === 'string' ? deviceNode(data.bus) : null
    return place === null ? [] : [{ index: Number(data?.index), ...place }]
  })
}

async function installation(): Promise<Finding[]> {
  return [
    node(),
    kernel(),
    cores(),
    memory(),
    handles(),
    await sharedMemory(),
    shm(),
    await library('FFI', 'bad', 'npm install koffi', async () => {
      await import('../../system/memory/memory.js')
      return 'koffi, with the C library'
    }),
    await library('TurboJPEG', 'bad', 'install libjpeg-turbo 3, or set MILLRACE_TURBOJPEG', async () =>
      (await import('../../system/codecs/turbojpeg-library.js')).libraryVersion(),
    ),
    await library('libvips', 'warn', 'npm install sharp, to read PNG, WebP and others', async () =>
      (await import('../../system/codecs/vips.js')).libraryVersion(),
    ),
    ...codecFindings((await import('../../codec/slow.js')).codecLibraries()),
    ...(await gpuFindings()),
  ]
}

function node(): Finding {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const old = major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1])
  const is = `${process.version}, ${process.arch}`
  return old
    ? { what: 'Node', verdict: 'bad', is, todo: `install Node ${LEAST_NODE.join('.')} or newer` }
    : { what: 'Node', verdict: 'ok', is }
}

function kernel(): Finding {
  const is = `${process.platform} ${release()}`
  if (process.platform === 'linux') return { what: 'kernel', verdict: 'ok', is }
  const todo = process.platform === 'win32' ? 'run Millrace in WSL2' : 'Linux is where everything works'
  return { what: 'kernel', verdict: process.platform === 'win32' ? 'bad' : 'warn', is, todo }
}

function cores(): Finding {
  const present = cpus().length
  const usable = usableCores()
  const workers = `${counted(autoWorkers(), 'worker')} by default`
  if (usable >= present) return { what: 'cores', verdict: 'ok', is: `${count(usable)}, ${workers}` }
  return {
    what: 'cores',
    verdict: 'warn',
    is: `${usable} of ${present} usable (affinity or control group), ${workers}`,
    todo: 'give the container or job more cores if it is meant to have them',
  }
}

function memory(): Finding {
  const limit = memoryLimit()
  const is = `${bytes(limit.bytes)} free of ${bytes(totalmem())}, by ${limit.name}`
  if (limit.bytes >= ENOUGH_MEMORY) return { what: 'memory', verdict: 'ok', is }
  return { what: 'memory', verdict: 'warn', is, todo: moreMemory(limit.name) }
}

function handles(): Finding {
  const limit = fileHandleLimit()
  const is = Number.isFinite(limit) ? `${count(limit)} open at once` : 'no limit'
  if (limit >= ENOUGH_HANDLES) return { what: 'file handles', verdict: 'ok', is }
  return { what: 'file handles', verdict: 'warn', is, todo: `ulimit -n ${ENOUGH_HANDLES} or more` }
}

/** Batches lie in memfds: tried for real, with one page. */
async function sharedMemory(): Promise<Finding> {
  const what = 'shared memory'
  try {
    const { createRegion, free, PAGE, reserve } = await import('../../system/memory/memory.js')
    const region = createRegion(PAGE)
    await reserve(region, PAGE).finally(() => free(region))
    return { what, verdict: 'ok', is: 'memfd works' }
  } catch (error) {
    return {
      what,
      verdict: 'bad',
      is: `can't be reserved (${(error as Error).message})`,
      todo: 'check the memory limit of the container, and that seccomp permits memfd_create and fallocate',
    }
  }
}

/** Not needed by Millrace itself; PyTorch's own workers do need it, so its size is worth knowing. */
function shm(): Finding {
  try {
    const { blocks, bsize, bavail } = statfsSync('/dev/shm')
    return {
      what: '/dev/shm',
      verdict: 'ok',
      is: `${bytes(bavail * bsize)} free of ${bytes(blocks * bsize)} (not needed)`,
    }
  } catch {
    return { what: '/dev/shm', verdict: 'ok', is: 'none (not needed)' }
  }
}

async function library(
  what: string,
  without: 'warn' | 'bad',
  todo: string,
  version: () => Promise<string>,
): Promise<Finding> {
  try {
    return { what, verdict: 'ok', is: await version() }
  } catch (error) {
    return { what, verdict: without, is: `not usable (${(error as Error).message.split('\n')[0]})`, todo }
  }
}

/** Which codecs are run by libraries of the system, and what the missing ones cost. */
export function codecFindings(libraries: readonly CodecLibrary[]): Finding[] {
  const named = ({ name, codecs }: CodecLibrary): string => `${name} (${codecs.join(', ')})`
  const found = libraries.filter(library => library.found)
  const missing = libraries.filter(library => !library.found)
  const own = 'snappy, lzf, blosc, shuffles and CRC-32C by kernels of our own'
  return [
    { what: 'codecs', verdict: 'ok', is: [...found.map(named), own].join('; ') },
    ...missing.map(
      (library): Finding => ({
        what: 'codecs',
        verdict: 'warn',
        is: `${named(library)} is missing, ${library.without}`,
        todo: library.install,
      }),
    ),
  ]
}
