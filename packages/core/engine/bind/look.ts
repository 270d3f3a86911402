/**
 * A look at the processes that are fed, where workers are to keep out of their way: which cores they are bound to, and at
 * which NUMA nodes their GPUs are. `root` is `/`, except in tests.
 */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readText } from '../../system/process/cgroup.js'
import { parseCores } from '../../system/process/core-list.js'
import { gpuCount } from '../../system/process/limits.js'
import { allowedCores, boundByItself, maskOf } from '../../system/process/topology.js'
import type { Among, Wanted } from './plan.js'
import type { Trainer } from './trainer.js'

/** What the plan has to know of the processes that are fed, as they are now. */
export async function lookAtTrainers(
  trainers: readonly Trainer[],
  root = '/',
): Promise<Omit<Wanted, 'binding' | 'workers'>> {
  const gpus = await placesOfGpus(root)
  const [first] = trainers
  const among = first?.local && amongOf(first, first.local, gpus, root)
  const found = trainers.flatMap(trainer => nodesOf(trainer, gpus))
  const masks = trainers.map(({ pid }) => maskOf(pid, root) ?? allowedCores(root))
  const devices = among === undefined ? gpuCount() : Math.min(1, gpuCount())
  return {
    near: [...new Set(found)].sort((a, b) => a - b),
    trainers: [...new Set(masks.flat())],
    keep: Math.max(1, 2 * devices),
    ...(among && { among }),
  }
}

/** The GPUs by files; where the driver shows none there, by NVML. */
async function placesOfGpus(root: string): Promise<GpuPlace[]> {
  const reported = gpuPlaces(root)
  if (reported.length > 0 || root !== '/' || gpuCount() === 0) return reported
  const { openNvml } = await import('../../system/nvml/nvml.js')
  const nvml = openNvml()
  try {
    return Array.from({ length: nvml?.count ?? 0 }, (_, index) => {
      const { uuid, name, bus } = nvml!.describe(index)
      return { uuid, model: name, node: deviceNode(bus)?.node ?? null }
    })
  } catch {
    return [] // the driver does not answer: no node is preferred
  } finally {
    nvml?.close()
  }
}

/** The node of a trainer's GPU: of the one it uses, or of all that it sees, where they are at one. Else none is known. */
export function nodesOf({ visible, order, device, local }: Trainer, all: readonly GpuPlace[]): number[] {
  const seen = visiblePlaces(all, visible, order)
  if (seen === null) return []
  const used = device ?? local?.rank
  const gpus = used !== undefined && used < seen.length ? [seen[used]] : seen
  const nodes = new Set(gpus.map(gpu => gpu.node))
  const [node] = nodes
  return nodes.size === 1 && node !== null ? [node] : []
}

/** How ranks of a host, each with its own workers, divide its cores. A rank that was bound by itself has its part already. */
function amongOf(
  { pid, visible, order }: Trainer,
  { rank, world }: { rank: number; world: number },
  all: readonly GpuPlace[],
  root: string,
): Among | undefined {
  if (world < 2 || boundByItself(pid, root)) return undefined
  const seen = visiblePlaces(all, visible, order) ?? []
  const nodes = seen.slice(0, world).flatMap(({ node }) => node ?? [])
  return { rank, world, ...(nodes.length === world && { nodes }) }
}

/**
 * The GPUs of this machine in the order in which CUDA counts them, and the NUMA node that each is at. By files alone: NVML would
 * have to wake the driver first. `root` is `/`, except in tests.
 */
export interface GpuPlace {
  /** `GPU-…`; empty: not told. */
  uuid: string
  model: string
  /** Null: not told, as on machines with one node. */
  node: number | null
}

const GPUS = '/proc/driver/nvidia/gpus'

/** By PCI address. In a container the driver may list all GPUs of the machine: those count whose device file is there. */
export function gpuPlaces(root = '/'): GpuPlace[] {
  const files = entries(root, '/dev').filter(name => /^nvidia\d+$/.test(name))
  return entries(root, GPUS)
    .sort()
    .flatMap(bus => {
      const reported = readText(root, `${GPUS}/${bus}/information`) ?? ''
      const word = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(reported)?.[1].trim()
      const minor = word('Device Minor')
      if (files.length > 0 && minor !== undefined && !files.includes(`nvidia${minor}`)) return []
      const node = deviceNode(bus, root)?.node ?? null
      return [{ uuid: word('GPU UUID') ?? '', model: word('Model') ?? '', node }]
    })
}

/**
 * The GPUs among `all` that a CUDA program sees, in its order. `visible` is its CUDA_VISIBLE_DEVICES, `order` its
 * CUDA_DEVICE_ORDER. Null: it can't be told, since CUDA counts GPUs of different models by their speed.
 */
export function visiblePlaces(
  all: readonly GpuPlace[],
  visible: string | undefined,
  order: string | undefined,
): GpuPlace[] | null {
  const counted = order === 'PCI_BUS_ID' || new Set(all.map(gpu => gpu.model)).size <= 1
  if (visible === undefined) return counted ? [...all] : null
  const seen: GpuPlace[] = []
  for (const name of visible.split(',').map(name => name.trim())) {
    const number = /^\d+$/.test(name)
    if (number && !counted) return null
    // A UUID may be shortened. As CUDA reads it, the list ends before the first entry that names no device.
    const gpu = number
      ? all[Number(name)]
      : all.find(({ uuid }) => /^GPU-./.test(name) && uuid.startsWith(name))
    if (gpu === undefined) break
    seen.push(gpu)
  }
  return seen
}

/** The node and the cores next to a PCI device, by its address (`0000:19:00.0`, with NVML `00000000:19:00.0`). Null: not told. */
export function deviceNode(bus: string, root = '/'): { node: number; cores: number[] } | null {
  const [, domain, rest] = /^([0-9a-f]{4,8}):(.+)$/i.exec(bus) ?? []
  if (domain === undefined) return null
  const folder = `/sys/bus/pci/devices/${domain.slice(-4)}:${rest}`.toLowerCase()
  const node = Number.parseInt(readText(root, `${folder}/numa_node`) ?? '', 10)
  const cores = parseCores(readText(root, `${folder}/local_cpulist`) ?? '')
  return node >= 0 && cores !== null ? { node, cores } : null
}

function entries(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
  } catch {
    return []
  }
}
