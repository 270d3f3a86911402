/**
 * A look at the processes that are fed, where workers are to keep out of their way: which cores they are bound to, and at
 * which NUMA nodes their GPUs are. `root` is `/`, except in tests.
 */
import { deviceNode, type GpuPlace, gpuPlaces, visiblePlaces } from '../../system/process/gpu-places.js'
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
