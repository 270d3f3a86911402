/** What `doctor` looks up about the machine before a run. `root` is `/`, except in tests. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { HostSignals } from '../../observe/evidence.js'
import type { HostLook } from '../../observe/host/look.js'
import { parseProcessStat, TICKS } from '../../observe/host/parse.js'
import { HostSampler } from '../../observe/host/sampler.js'
import { readText } from '../../system/process/cgroup.js'
import { parseCores } from '../../system/process/core-list.js'
import { type MemoryLimit, memoryLimit } from '../../system/process/limits.js'

/** A process that keeps cores busy. */
export interface BusyProcess {
  pid: number
  name: string
  cores: number
}

export interface HostFacts {
  look: HostLook
  /** What happened while `doctor` looked. */
  signals: HostSignals
  /** The processes that used most CPU time meanwhile, this one apart. */
  busiest: BusyProcess[]
  /** Tasks that ran or waited for a core. Null: the system does not say. */
  runnable: number | null
  headroom: MemoryLimit
  /** Soft limits; Infinity: none; null: not told. */
  memlock: number | null
  processes: number | null
  governors: { governor: string; driver: string }[]
  allowedCores: number[]
  allowedNodes: number[]
  nodes: { node: number; cores: number[] }[]
}

export async function hostFacts(ms = 1000, root = '/'): Promise<HostFacts> {
  const host = new HostSampler({ gpu: false, root })
  const before = host.look()
  const ticks = processTicks(root)
  await new Promise(resolve => setTimeout(resolve, ms))
  const look = host.look()
  const signals = host.between(before, look)
  host.close()
  const status = readText(root, '/proc/self/status') ?? ''
  const limits = readText(root, '/proc/self/limits') ?? ''
  return {
    look,
    signals,
    busiest: busiest(ticks, processTicks(root), signals.seconds),
    runnable: runnable(readText(root, '/proc/loadavg') ?? ''),
    headroom: memoryLimit(),
    memlock: softLimit(limits, 'Max locked memory'),
    processes: softLimit(limits, 'Max processes'),
    governors: governors(root),
    allowedCores: listOf(status, 'Cpus_allowed_list'),
    allowedNodes: listOf(status, 'Mems_allowed_list'),
    nodes: nodes(root),
  }
}

/** `0.20 0.18 0.12 3/80 11206`: the fourth has what runs or waits for a core. */
export function runnable(loadavg: string): number | null {
  const found = /^(?:[\d.]+ ){3}(\d+)\/\d+/.exec(loadavg)?.[1]
  return found === undefined ? null : Number(found)
}

/** Lines of /proc/PID/limits are columns: name, soft limit, hard limit, unit. */
export function softLimit(limits: string, name: string): number | null {
  const limit = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1]
  if (limit === undefined) return null
  return limit === 'unlimited' ? Infinity : /^\d+$/.test(limit) ? Number(limit) : null
}

type Ticks = Map<number, { ticks: number; started: number; name: string }>

function processTicks(root: string): Ticks {
  const found: Ticks = new Map()
  for (const entry of entries(root, '/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const text = readText(root, `/proc/${entry}/stat`) ?? ''
    const stat = parseProcessStat(text)
    if (stat === null) continue
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    found.set(Number(entry), { ticks: stat.ticks, started: stat.started, name })
  }
  return found
}

export function busiest(before: Ticks, after: Ticks, seconds: number, own = process.pid): BusyProcess[] {
  const used = [...after].flatMap(([pid, { ticks, started, name }]) => {
    const first = before.get(pid)
    const since = first?.started === started ? first.ticks : 0
    const cores = seconds > 0 ? (ticks - since) / TICKS / seconds : 0
    return pid !== own && cores >= 0.1 ? [{ pid, name, cores }] : []
  })
  return used.sort((a, b) => b.cores - a.cores).slice(0, 3)
}

function governors(root: string): HostFacts['governors'] {
  const found = entries(root, '/sys/devices/system/cpu')
    .filter(name => /^cpu\d+$/.test(name))
    .flatMap(name => {
      const folder = `/sys/devices/system/cpu/${name}/cpufreq`
      const governor = readText(root, `${folder}/scaling_governor`)
      const driver = readText(root, `${folder}/scaling_driver`) ?? ''
      return governor === undefined ? [] : [{ governor, driver }]
    })
  return [...new Map(found.map(each => [`${each.governor} ${each.driver}`, each])).values()]
}

function nodes(root: string): HostFacts['nodes'] {
  return entries(root, '/sys/devices/system/node').flatMap(name => {
    const node = /^node(\d+)$/.exec(name)?.[1]
    if (node === undefined) return []
    const cores = parseCores(readText(root, `/sys/devices/system/node/${name}/cpulist`) ?? '')
    return cores === null ? [] : [{ node: Number(node), cores }]
  })
}

function listOf(status: string, name: string): number[] {
  return parseCores(new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? '') ?? []
}

function entries(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
  } catch {
    return []
  }
}
