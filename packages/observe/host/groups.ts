/** What the control groups above a process say: quota, throttling, pressure, memory. Where they say nothing, the machine does. */
import { type CgroupLevel, cgroupLevels, readText } from '../../core/system/process/cgroup.js'
import type { HostLook } from './look.js'
import { parseCpuStat, parseKeyed, parsePressure, parseQuota, type Throttling } from './parse.js'

/** Version 1 writes a number near 2^63 where there is no limit. */
const NO_LIMIT = 2 ** 60
/** Bytes of a page: the kernel counts refaults in pages. Larger pages would only make the figure too small. */
const PAGE = 4096

type GroupsLook = Pick<
  HostLook,
  'quota' | 'groupMs' | 'psi' | 'throttling' | 'pageCacheBytes' | 'memoryLimitBytes' | 'refaultBytes'
>

export class Groups {
  private readonly cpu: CgroupLevel[]
  private readonly memory: CgroupLevel[]

  constructor(
    pid: number,
    private readonly root: string,
  ) {
    this.cpu = cgroupLevels('cpu', root, pid).map(remembering)
    this.memory = cgroupLevels('memory', root, pid).map(remembering)
  }

  look(): GroupsLook {
    const quotas = this.cpu.map(quotaOf)
    const quota = Math.min(...quotas.map(cores => cores ?? Infinity))
    const stats = this.cpu.map(level => parseCpuStat(level.read('cpu.stat') ?? ''))
    const tightest = quotas.indexOf(quota)
    const throttling = stats.filter(stat => stat !== null)
    const machine = parseKeyed(readText(this.root, '/proc/meminfo') ?? '')
    return {
      quota: tightest < 0 ? null : quota,
      groupMs: tightest < 0 ? null : usedMs(this.cpu[tightest], stats[tightest]),
      psi: { cpu: this.pressure('cpu'), io: this.pressure('io'), memory: this.pressure('memory') },
      throttling: throttling.length === 0 ? null : throttling,
      pageCacheBytes: this.pageCache(machine),
      refaultBytes: this.refaults(),
      memoryLimitBytes: this.limit(machine),
    }
  }

  /** Of the process's own group where it has the file. */
  private pressure(of: string): number | null {
    const own = this.cpu.find(level => level.version === 2)?.read(`${of}.pressure`)
    return parsePressure(own ?? '') ?? parsePressure(readText(this.root, `/proc/pressure/${of}`) ?? '')
  }

  /** Files in memory, without shared memory, which counts among them. */
  private pageCache(machine: ReadonlyMap<string, number>): number | null {
    for (const level of this.memory.slice(0, 1)) {
      const stat = parseKeyed(level.read('memory.stat') ?? '')
      const [files, shared] = level.version === 2 ? ['file', 'shmem'] : ['total_cache', 'total_shmem']
      const bytes = stat.get(files)
      if (bytes !== undefined) return Math.max(0, bytes - (stat.get(shared) ?? 0))
    }
    const cached = machine.get('Cached')
    return cached === undefined ? null : Math.max(0, cached - (machine.get('Shmem') ?? 0))
  }

  /** Of the process's own group where it says so; otherwise of the machine. */
  private refaults(): number | null {
    const level = this.memory.at(0)
    const own = parseKeyed(level?.read('memory.stat') ?? '').get(
      level?.version === 1 ? 'total_workingset_refault_file' : 'workingset_refault_file',
    )
    const pages = own ?? parseKeyed(readText(this.root, '/proc/vmstat') ?? '').get('workingset_refault_file')
    return pages === undefined ? null : pages * PAGE
  }

  /** The tightest limit, which may be the machine's memory. */
  private limit(machine: ReadonlyMap<string, number>): number | null {
    const limits = this.memory.flatMap(level =>
      (level.version === 2 ? ['memory.max', 'memory.high'] : ['memory.limit_in_bytes']).flatMap(file => {
        const text = level.read(file) ?? ''
        return /^\d+$/.test(text) && Number(text) < NO_LIMIT ? [Number(text)] : []
      }),
    )
    const least = Math.min(machine.get('MemTotal') ?? Infinity, ...limits)
    return Number.isFinite(least) ? least : null
  }
}

/** The same level, which does not look again for files that it has not: a failed open takes as long as a read. */
function remembering(level: CgroupLevel): CgroupLevel {
  const missing = new Set<string>()
  const read = (file: string): string | undefined => {
    if (missing.has(file)) return undefined
    const text = level.read(file)
    if (text === undefined) missing.add(file)
    return text
  }
  return { ...level, read }
}

function quotaOf(level: CgroupLevel): number | null {
  return level.version === 2
    ? parseQuota(level.read('cpu.max'))
    : parseQuota(level.read('cpu.cfs_quota_us'), level.read('cpu.cfs_period_us'))
}

/** CPU time of a group: version 1 has it beside the quota, where both controllers are mounted together. */
function usedMs(level: CgroupLevel, stat: Throttling | null): number | null {
  if (stat?.usedMs != null) return stat.usedMs
  const ns = level.version === 1 ? level.read('cpuacct.usage') : undefined
  return ns !== undefined && /^\d+$/.test(ns) ? Number(ns) / 1e6 : null
}
