/**
 * The cores that this process may use, and how they lie: which are threads of one physical core, and at which NUMA node. By
 * files alone, so that a test is just another folder. `root` is `/`, except in tests.
 */
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { cgroupLevels, readText } from './cgroup.js'
import { parseCores } from './core-list.js'

export interface Core {
  id: number
  /** The lowest number among the threads of its physical core. */
  physical: number
  node: number
}

/** The cores that this process may use, in ascending order. */
export type Topology = readonly Core[]

const SYSTEM = '/sys/devices/system'

export function readTopology(root = '/'): Topology {
  const nodes = coreNodes(root)
  return allowedCores(root).map(id => {
    const threads = parseCores(
      readText(root, `${SYSTEM}/cpu/cpu${id}/topology/thread_siblings_list`) ?? '',
    ) ?? [id]
    return { id, physical: Math.min(id, ...threads), node: nodes.get(id) ?? 0 }
  })
}

/** The affinity mask of this process, which has the cpuset of its control group in it, less what is switched off. */
export function allowedCores(root = '/'): number[] {
  const online = parseCores(readText(root, `${SYSTEM}/cpu/online`) ?? '')
  const allowed = maskOf('self', root) ?? online ?? [...Array(availableParallelism()).keys()]
  return online === null ? allowed : allowed.filter(core => online.includes(core))
}

/** The cores that a process may use. Null: it is gone, or belongs to another container. */
export function maskOf(pid: number | 'self', root = '/'): number[] | null {
  const status = readText(root, `/proc/${pid}/status`) ?? ''
  return parseCores(/^Cpus_allowed_list:\s+(\S+)/m.exec(status)?.[1] ?? '')
}

/**
 * Whether a process was bound by itself, and not together with those that the same launcher has started: it has fewer cores
 * than its parent, and fewer than its control group.
 */
export function boundByItself(pid: number | 'self', root = '/'): boolean {
  const mask = maskOf(pid, root)
  if (mask === null) return false
  const parent = /^PPid:\s+(\d+)/m.exec(readText(root, `/proc/${pid}/status`) ?? '')?.[1]
  const others = [
    parent === undefined ? null : maskOf(Number(parent), root),
    cpuset(root) ?? parseCores(readText(root, `${SYSTEM}/cpu/online`) ?? ''),
  ].filter(cores => cores !== null)
  return others.length > 0 && others.every(cores => cores.some(core => !mask.includes(core)))
}

/** The cores of the innermost control group that says so. */
function cpuset(root: string): number[] | null {
  for (const level of cgroupLevels('cpuset', root)) {
    const cores = parseCores(level.read('cpuset.cpus.effective') ?? level.read('cpuset.effective_cpus') ?? '')
    if (cores !== null) return cores
  }
  return null
}

/** At which node each core of the machine is. */
function coreNodes(root: string): Map<number, number> {
  const nodes = new Map<number, number>()
  for (const name of entries(root, `${SYSTEM}/node`)) {
    const node = /^node(\d+)$/.exec(name)?.[1]
    if (node === undefined) continue
    for (const core of parseCores(readText(root, `${SYSTEM}/node/${name}/cpulist`) ?? '') ?? [])
      nodes.set(core, Number(node))
  }
  return nodes
}

function entries(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
  } catch {
    return []
  }
}
