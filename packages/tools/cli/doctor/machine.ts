/** What `doctor` looks up about the machine, for a second. `root` is `/`, except in tests. */
import { cpus } from 'node:os'
import { lookAtTrainers } from '../../../core/engine/bind/look.js'
import { type BindingPlan, planBinding } from '../../../core/engine/bind/plan.js'
import { ownTrainer } from '../../../core/engine/bind/trainer.js'
import { readText } from '../../../core/system/process/cgroup.js'
import {
  autoWorkers,
  fileHandleLimit,
  type MemoryLimit,
  memoryLimit,
} from '../../../core/system/process/limits.js'
import { readTopology, type Topology } from '../../../core/system/process/topology.js'
import type { HostSignals } from '../../../observe/evidence.js'
import type { HostLook } from '../../../observe/host/look.js'
import { HostSampler } from '../../../observe/host/sampler.js'

export interface Machine {
  look: HostLook
  /** What happened while `doctor` looked. */
  signals: HostSignals
  /** Tasks that ran or waited for a core. Null: the system does not say. */
  runnable: number | null
  memory: MemoryLimit
  /** Soft limits; Infinity: none; null: the system does not say. */
  files: number
  processes: number | null
  locked: number | null
  /** How CPUs choose their clock: governor and driver. */
  governors: string[]
  topology: Topology
  /** Cores of the machine. */
  present: number
  /** NUMA nodes of GPUs. */
  near: readonly number[]
  /** What `affinity: "auto"` would do. */
  plan: BindingPlan
}

export async function lookAtMachine(ms = 1000, root = '/'): Promise<Machine> {
  const host = new HostSampler({ gpu: false, root })
  const before = host.look()
  await new Promise(resolve => setTimeout(resolve, ms))
  const look = host.look()
  const signals = host.between(before, look)
  host.close()
  const topology = readTopology(root)
  const trainers = await lookAtTrainers([ownTrainer()], root)
  const limits = readText(root, '/proc/self/limits') ?? ''
  return {
    look,
    signals,
    // `0.20 0.18 0.12 3/80 11206`: the fourth has what runs or waits for a core.
    runnable: numberOf(/^(?:[\d.]+ ){3}(\d+)\//.exec(readText(root, '/proc/loadavg') ?? '')?.[1]),
    memory: memoryLimit(),
    files: fileHandleLimit(),
    processes: softLimit(limits, 'Max processes'),
    locked: softLimit(limits, 'Max locked memory'),
    governors: governors(topology, root),
    topology,
    present: cpus().length,
    near: trainers.near,
    plan: planBinding(topology, { ...trainers, binding: 'auto', workers: autoWorkers() }),
  }
}

/** Lines of /proc/PID/limits are columns: name, soft limit, hard limit, unit. */
export function softLimit(limits: string, name: string): number | null {
  const limit = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1]
  return limit === 'unlimited' ? Infinity : numberOf(limit)
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}

function governors(topology: Topology, root: string): string[] {
  const found = topology.flatMap(({ id }) => {
    const [governor, driver] = ['governor', 'driver'].map(
      name => readText(root, `/sys/devices/system/cpu/cpu${id}/cpufreq/scaling_${name}`) ?? '',
    )
    return governor === '' ? [] : [`${governor} ${driver}`.trim()]
  })
  return [...new Set(found)]
}
