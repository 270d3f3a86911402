/** What `doctor` checks of the installation and of the machine, in its order: each line with a sentence of advice. */
import { release } from 'node:os'
import { codecLibraries } from '../../../core/codec/slow.js'
import { showCores } from '../../../core/system/process/core-list.js'
import { autoWorkers } from '../../../core/system/process/limits.js'
import { bytes, count, counted, percent } from '../units.js'
import type { Check, Look } from './check.js'
import type { Machine } from './machine.js'

const LEAST_NODE = [20, 19]
/** A few batches of images, the index and the rest. */
const ENOUGH_MEMORY = 1 << 30
/** Less of the memory limit left than this is little. */
const HEADROOM = 0.1
/** What a run with many shards and workers may have open. */
const ENOUGH_FILES = 1024
/** Workers and frameworks start many threads. */
const ENOUGH_PROCESSES = 1024
const ENOUGH_LOCKED = 64 << 20
/** A control group that was throttled in this share of its periods loses time. */
const THROTTLED = 0.05
/** Others that keep this share of the allowed cores busy are worth a remark. */
const CROWDED = 0.25
/** Runnable tasks for each allowed core. */
const RUNNABLE = 2
/** Cores are kept slow, unless the driver chooses the clock itself: its "powersave" is the usual setting. */
const SLOW_CLOCK = /^(userspace|powersave(?! (intel_pstate|amd[-_]pstate)))/

export const INSTALLATION: readonly Check<undefined>[] = [
  {
    what: 'Node',
    needed: true,
    look: () => {
      const [major, minor] = process.versions.node.split('.').map(Number)
      const old = major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1])
      const todo = old && `install Node ${LEAST_NODE.join('.')} or newer`
      return { is: `${process.version}, ${process.arch}`, todo }
    },
  },
  {
    what: 'system',
    look: () => ({
      is: `${process.platform} ${release()}`,
      todo: process.platform !== 'linux' && 'Linux is where everything works; on Windows, use WSL2',
    }),
  },
  {
    what: 'shared memory',
    needed: true,
    // Batches lie in memfds: tried for real, with one page.
    look: async () => {
      const { createRegion, free, PAGE, reserve } = await import('../../../core/system/memory/memory.js')
      const region = createRegion(PAGE)
      await reserve(region, PAGE).finally(() => free(region))
      return { is: 'memfd works' }
    },
    otherwise:
      'npm install koffi, if it is missing; else check the memory limit of the container, and that seccomp permits memfd_create and fallocate',
  },
  {
    what: 'TurboJPEG',
    needed: true,
    look: async () => ({
      is: (await import('../../../core/system/codecs/turbojpeg-library.js')).libraryVersion(),
    }),
    otherwise: 'install libjpeg-turbo 3, or set MILLRACE_TURBOJPEG',
  },
  {
    what: 'libvips',
    look: async () => ({ is: (await import('../../../core/system/codecs/vips.js')).libraryVersion() }),
    otherwise: 'npm install sharp, to read PNG, WebP and others',
  },
  { what: 'codecs', look: () => codecs() },
]

/** Which codecs are run by libraries of the system, and what the missing ones cost. */
export function codecs(libraries = codecLibraries()): Look {
  const is = libraries.map(({ name, codecs, found, without }) => {
    return found ? `${name} (${codecs.join(', ')})` : `no ${name} (${codecs.join(', ')}): ${without}`
  })
  const missing = libraries.filter(({ found }) => !found)
  return { is: is.join('; '), todo: missing.map(({ install }) => install).join('; ') }
}

export const MACHINE: readonly Check<Machine>[] = [
  { what: 'cores', look: cores },
  {
    what: 'CPU quota',
    look: ({ look: { quota, throttling }, signals }) => {
      const shares = (throttling ?? []).map(({ throttled, periods }) => throttled / Math.max(1, periods))
      const share = Math.max(0, ...shares)
      const data = { quota, throttledShare: share, throttledNow: signals.throttled }
      if (quota === null) return { is: 'none: all allowed cores can be used in full', data }
      const slow = share >= THROTTLED || (signals.throttled ?? 0) >= THROTTLED
      const workers = Math.max(1, Math.floor(quota) - 1)
      return {
        is: `${Number(quota.toFixed(2))} cores; used up in ${percent(share)} of its periods so far`,
        todo: slow && `raise it (docker --cpus, limits.cpu of Kubernetes), or take --workers ${workers}`,
        data,
      }
    },
  },
  { what: 'memory', look: memory },
  {
    what: 'file handles',
    look: ({ files }) => ({
      is: limitText(files, 'open at once'),
      todo: files < ENOUGH_FILES && `ulimit -n ${ENOUGH_FILES} or more`,
    }),
  },
  {
    what: 'processes',
    look: ({ processes }) => ({
      is: limitText(processes, 'processes and threads at once'),
      todo: processes !== null && processes < ENOUGH_PROCESSES && `ulimit -u ${4 * ENOUGH_PROCESSES}`,
    }),
  },
  {
    what: 'locked memory',
    look: ({ locked, near }) => ({
      is: limitText(locked, "bytes (CUDA's own pinned memory does not count)"),
      todo:
        near.length > 0 &&
        locked !== null &&
        locked < ENOUGH_LOCKED &&
        'ulimit -l unlimited, where NCCL uses InfiniBand',
    }),
  },
  {
    what: 'CPU governor',
    look: ({ governors }) => ({
      is: governors.join(', ') || 'not told (as in virtual machines)',
      todo: governors.some(one => SLOW_CLOCK.test(one)) && 'sudo cpupower frequency-set -g performance',
    }),
  },
  {
    what: 'other processes',
    look: ({ signals: { allowed, otherCores, coreBusy }, runnable }) => {
      const queued = runnable !== null && runnable > RUNNABLE * Math.max(1, coreBusy.length) + 1
      const short = allowed > 0 && (otherCores >= CROWDED * allowed || queued)
      const tasks = runnable === null ? '' : `, ${counted(runnable, 'task')} running or waiting`
      const left = Math.max(0, Math.floor(allowed - otherCores))
      return {
        is: `${otherCores.toFixed(1)} of ${counted(allowed, 'allowed core')} busy${tasks}`,
        todo: short && `end them (top names them), or count on ${counted(left, 'core')}`,
        data: { otherCores, allowed, runnable },
      }
    },
  },
  { what: 'pressure', look: pressure },
]

function cores({ topology, present, near, plan: { places, cores, kept } }: Machine): Look {
  if (topology.length === 0) return { is: `${counted(present, 'core')}; how they lie is not told` }
  const physical = new Set(topology.map(core => core.physical)).size
  const nodes = [...new Set(topology.map(core => core.node))].sort((a, b) => a - b)
  const list = (ids: readonly number[]) => `${ids.length === 1 ? 'core' : 'cores'} ${showCores(ids)}`
  const where = places.length <= cores.length ? list(places.flat()) : `${list(cores)} together`
  const left = kept.length > 0 ? `, and leave ${list(kept)} to the trainer` : ''
  const bound = topology.length < present ? ` of ${present} (affinity or control group)` : ''
  const far = near.length > 0 && !near.some(node => nodes.includes(node))
  return {
    is:
      `${counted(physical, 'physical core')}, ${counted(topology.length, 'thread')}${bound}, at NUMA node ${nodes.join(', ')}; ` +
      `${counted(autoWorkers(), 'worker')} by default; affinity "auto" would take ${where}${left}`,
    todo:
      far &&
      `the GPU is at node ${near.join(', ')}: start with numactl --cpunodebind=${near[0]} --membind=${near[0]}, or give the job cores of that node`,
    data: { cores: topology, present, near, places, kept },
  }
}

function memory({
  look: { memoryLimitBytes: limit, pageCacheBytes },
  memory: { bytes: free, name },
}: Machine): Look {
  const of = limit === null ? '' : ` of ${bytes(limit)}`
  const cache = pageCacheBytes === null ? '' : `, ${bytes(pageCacheBytes)} of files in the page cache`
  const little = free < Math.max(HEADROOM * (limit ?? 0), ENOUGH_MEMORY)
  const advice = name.includes('ulimit -v')
    ? 'it is no memory, but Node reserves tens of GiB of it: ulimit -v unlimited'
    : 'use small batches and little depth, end what else needs memory, or raise the limit (docker --memory, limits.memory of Kubernetes)'
  return {
    is: `${bytes(free)} free${of}, by ${name}${cache}`,
    todo: little && advice,
    data: { limit, free, by: name, pageCacheBytes },
  }
}

function limitText(limit: number | null, of: string): string {
  return limit === null ? 'not told' : limit === Infinity ? 'no limit' : `${count(limit)} ${of}`
}

/** By what is waited for: the share of the time from which on a remark is made, and the remark. */
const PRESSURE = [
  ['cpu', 0.25, 'more wants to run than there are cores'],
  ['io', 0.25, 'the storage is busy: millrace probe says how fast it is'],
  ['memory', 0.05, 'memory is short: smaller batches, less depth, fewer workers'],
] as const

function pressure({ signals: { psi } }: Machine): Look {
  const known = PRESSURE.flatMap(([name, most, advice]) => {
    const share = psi[name]
    return share === null
      ? []
      : [{ is: `${percent(share)} for ${name}`, todo: share >= most ? [advice] : [] }]
  })
  if (known.length === 0) return { is: 'not told (no PSI in this kernel)' }
  const is = `tasks waited ${known.map(({ is }) => is).join(', ')}`
  return { is, todo: known.flatMap(({ todo }) => todo).join('; '), data: psi }
}
