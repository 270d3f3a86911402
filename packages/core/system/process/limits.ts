/**
 * What this process may use of the machine: cores, memory, file handles, GPUs. Everything comes from plain files,
 * so that a test, or a container with half of them missing, is just another folder.
 */
import { readdirSync } from 'node:fs'
import { availableParallelism, freemem } from 'node:os'
import { join } from 'node:path'
import { type CgroupLevel, cgroupLevels, readText } from './cgroup.js'

/** The machine as it is asked; tests give another. */
export interface Machine {
  /** The folder that stands for `/`. */
  root: string
  /** Cores and free memory as the runtime reports them: for platforms without these files. */
  cores: number
  freeMemory: number
  /** CUDA_VISIBLE_DEVICES; undefined if it is not set. */
  visibleGpus: string | undefined
}

function thisMachine(): Machine {
  return {
    root: '/',
    cores: availableParallelism(),
    freeMemory: freemem(),
    visibleGpus: process.env.CUDA_VISIBLE_DEVICES,
  }
}

/** Whole cores that this process may keep busy: the least of affinity, control group quotas and what there is. */
export function usableCores(machine = thisMachine()): number {
  return Math.max(1, Math.floor(allowedCores(machine)))
}

/** The same as it is: a fraction where a quota is one. */
export function allowedCores(machine = thisMachine()): number {
  const quotas = cgroupLevels('cpu', machine.root).map(quota)
  return Math.min(machine.cores, coresOfMask(machine.root), ...quotas)
}

/** Makers worth having: a core stays free for the main thread, or two for each GPU's trainer. */
export function autoWorkers(cores = usableCores(), gpus = gpuCount()): number {
  return Math.max(1, cores - Math.max(1, 2 * gpus))
}

/** Bytes that may still be taken, and the limit that says so: for the message when it is too little. */
export interface MemoryLimit {
  bytes: number
  name: string
}

export function memoryLimit(machine = thisMachine()): MemoryLimit {
  const limits = [
    physicalMemory(machine),
    addressSpace(machine.root),
    ...cgroupLevels('memory', machine.root).flatMap(level => groupMemory(level)),
  ]
  const least = limits.reduce((least, limit) => (limit.bytes < least.bytes ? limit : least))
  return { ...least, bytes: Math.max(0, least.bytes) }
}

/** Files that a process has open besides those of its workers: sockets, libraries, logs; at its start, modules that it loads side by side. */
export const OTHER_FILES = 96

/** From this limit on, files are plenty. */
const PLENTY = 8192

/**
 * The files that each worker keeps open at most: more than the shards that it touches at a time, fewer where many
 * workers would come near the process's limit. The workers keep to it, the budget counts it, and messages name it.
 */
export function filesAWorker(limit = fileHandleLimit()): number {
  return limit < PLENTY ? 32 : 64
}

/** Files that this process may have open at once; Infinity where there is no limit, or none that can be read. */
export function fileHandleLimit(machine = thisMachine()): number {
  return softLimit(machine.root, 'Max open files')
}

/** Workers for whose files there is room. */
export function workersByFiles(limit = fileHandleLimit()): number {
  return Math.max(1, Math.floor((limit - OTHER_FILES) / filesAWorker(limit)))
}

/** GPUs on this machine that CUDA programs started here would see. By files alone: NVML would have to wake the driver first. */
export function gpuCount(machine = thisMachine()): number {
  // In a container the device files show the GPUs that were given to it; /proc may list all of the machine's.
  const devices = entries(machine.root, '/dev').filter(name => /^nvidia\d+$/.test(name)).length
  const gpus = devices || entries(machine.root, '/proc/driver/nvidia/gpus').length
  if (machine.visibleGpus === undefined) return gpus
  // As CUDA reads it: the list ends before the first entry that names no device (`-1`, `none`, an empty string).
  const names = machine.visibleGpus.split(',').map(name => name.trim())
  const end = names.findIndex(
    name => !(/^(GPU|MIG)-/.test(name) || (/^\d+$/.test(name) && Number(name) < gpus)),
  )
  return Math.min(end < 0 ? names.length : end, gpus === 0 ? 0 : Infinity)
}

/** Cores in the affinity mask, which also carries the cpuset of the control group: `Cpus_allowed_list: 0-3,8`. */
function coresOfMask(root: string): number {
  const list = statusLine(root, 'Cpus_allowed_list')
  if (list === undefined) return Infinity
  return list.split(',').reduce((sum, run) => {
    const [first, last = first] = run.split('-').map(Number)
    return sum + last - first + 1
  }, 0)
}

/** Cores that a control group's quota amounts to, perhaps a fraction: 150000 of every 100000 µs is one and a half. */
function quota(level: CgroupLevel): number {
  const [most, period] =
    level.version === 2
      ? (level.read('cpu.max') ?? 'max').split(' ')
      : [level.read('cpu.cfs_quota_us'), level.read('cpu.cfs_period_us')]
  const cores = Number(most) / Number(period ?? 100_000)
  return cores > 0 ? cores : Infinity // "max" and −1 mean: none
}

function physicalMemory({ root, freeMemory }: Machine): MemoryLimit {
  const kib = /^MemAvailable:\s+(\d+) kB/m.exec(readText(root, '/proc/meminfo') ?? '')?.[1]
  if (kib === undefined) return { bytes: freeMemory, name: 'free memory of the machine' }
  return { bytes: Number(kib) * 1024, name: 'memory of the machine (MemAvailable)' }
}

/** What a control group leaves: its limit less what it uses, page cache not counted since that gives way. */
function groupMemory(level: CgroupLevel): MemoryLimit[] {
  const [files, usage, prefix] =
    level.version === 2
      ? [['memory.max', 'memory.high'], 'memory.current', '']
      : [['memory.limit_in_bytes'], 'memory.usage_in_bytes', 'total_']
  const stat = level.read('memory.stat') ?? ''
  const cached = ['active_file', 'inactive_file'].reduce(
    (sum, name) => sum + Number(new RegExp(`^${prefix}${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0),
    0,
  )
  const used = Math.max(0, Number(level.read(usage) ?? 0) - cached)
  return files.flatMap(file => {
    const limit = Number(level.read(file) ?? Number.NaN) // "max" is no number: no limit
    return Number.isNaN(limit) ? [] : [{ bytes: limit - used, name: `${join(level.path, file)} = ${limit}` }]
  })
}

function addressSpace(root: string): MemoryLimit {
  const used = Number.parseInt(statusLine(root, 'VmSize') ?? '0', 10) * 1024
  return { bytes: softLimit(root, 'Max address space') - used, name: 'address space (`ulimit -v`)' }
}

/** Lines of /proc/self/limits are columns: name, soft limit, hard limit, unit. */
function softLimit(root: string, name: string): number {
  const limit = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(readText(root, '/proc/self/limits') ?? '')?.[1]
  return limit === undefined || limit === 'unlimited' ? Infinity : Number(limit)
}

function statusLine(root: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(readText(root, '/proc/self/status') ?? '')?.[1]
}

function entries(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
  } catch {
    return []
  }
}
