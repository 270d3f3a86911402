/** A process that is fed, as it says of itself: workers that are bound to cores keep out of its way. */
export interface Trainer {
  pid: number
  /** Its CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; undefined: not set. */
  visible?: string
  order?: string
  /** Its GPU, as CUDA counts there; undefined: not known. */
  device?: number
  /** It is one of several of a host, each with workers of its own. */
  local?: { rank: number; world: number }
}

/** Variables by which launchers tell a process which of the host's it is, and how many there are. */
const LOCAL: readonly { rank: string; world: string }[] = [
  { rank: 'LOCAL_RANK', world: 'LOCAL_WORLD_SIZE' }, // torchrun
  { rank: 'OMPI_COMM_WORLD_LOCAL_RANK', world: 'OMPI_COMM_WORLD_LOCAL_SIZE' },
  { rank: 'MPI_LOCALRANKID', world: 'MPI_LOCALNRANKS' }, // MPICH, Intel MPI
  { rank: 'SLURM_LOCALID', world: 'SLURM_NTASKS_PER_NODE' },
]

/** This process, or the one that has started it: both have the same environment. */
export function ownTrainer(pid = process.pid, device?: number, env = process.env): Trainer {
  return { pid, visible: env.CUDA_VISIBLE_DEVICES, order: env.CUDA_DEVICE_ORDER, device, local: localOf(env) }
}

function localOf(env: NodeJS.ProcessEnv): Trainer['local'] {
  for (const names of LOCAL) {
    const [rank, world] = [Number(env[names.rank] ?? Number.NaN), Number(env[names.world] ?? Number.NaN)]
    if (Number.isInteger(rank) && Number.isInteger(world) && rank >= 0 && rank < world) return { rank, world }
  }
  return undefined
}
