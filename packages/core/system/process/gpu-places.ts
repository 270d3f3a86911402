/**
 * The GPUs of this machine in the order in which CUDA counts them, and the NUMA node that each is at. By files alone: NVML would
 * have to wake the driver first. `root` is `/`, except in tests.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readText } from './cgroup.js'
import { parseCores } from './core-list.js'

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
