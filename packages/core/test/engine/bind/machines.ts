/** Machines as Linux numbers their cores: what readTopology makes of them. */
import type { Core, Topology } from '../../../system/process/topology.js'

export interface MachineCase {
  name: string
  topology: Topology
  /** Its NUMA nodes with GPUs. */
  gpus: number[]
}

/** `sockets` × `nodes` a socket × `cores` a node; second threads follow after all first ones, as on servers. */
function machine(sockets: number, nodes: number, cores: number, threads: number): Topology {
  const physical = sockets * nodes * cores
  return Array.from({ length: physical * threads }, (_, id): Core => {
    const first = id % physical
    return { id, physical: first, node: Math.floor(first / cores) }
  })
}

/** Second threads beside the first: 0 and 1 are one core, as on most desktops. */
const desktop: Topology = Array.from({ length: 8 }, (_, id) => ({ id, physical: id - (id % 2), node: 0 }))

const twoSockets = machine(2, 1, 32, 2)
const holes = new Set([3, 4, 5, 9, 10, 17, 40, 41, 67, 68, 105])

export const VM: MachineCase = { name: 'a VM of 2 cores', topology: machine(1, 1, 2, 1), gpus: [] }
export const SMT: MachineCase = { name: '4 cores with SMT', topology: desktop, gpus: [0] }
export const SERVER: MachineCase = {
  name: '2 × 32 cores with SMT and 4 GPUs',
  topology: twoSockets,
  gpus: [0, 1],
}
export const CONTAINER: MachineCase = {
  name: 'a container with holes in its cpuset',
  topology: twoSockets.filter(core => holes.has(core.id)),
  gpus: [1],
}
export const EPYC: MachineCase = {
  name: '2 × 4 nodes of 16 cores',
  topology: machine(2, 4, 16, 2),
  gpus: [1, 3, 5, 7],
}

export const MACHINES = [VM, SMT, SERVER, CONTAINER, EPYC]
