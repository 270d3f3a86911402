/** One look at the machine: plain data, sums since some beginning. Two of them make HostSignals (between.ts). */
import type { CoreTicks, Throttling } from './parse.js'

export interface HostLook {
  /** ms of CLOCK_MONOTONIC. */
  at: number
  /** The cores that the engine may use. */
  cores: CoreTicks[]
  /** Cores of the tightest quota above the engine; null: there is none. */
  quota: number | null
  /** CPU time (ms) of the control group with that quota; null: it does not say. */
  groupMs: number | null
  /** CPU time (ms) of the makers, and of the trainer apart from them. */
  engineMs: number
  trainerMs: number
  /** ms that the trainer's thread waited for a core. Null: the system does not say. */
  trainerDelayMs: number | null
  /** Whether engine and trainer may use a core in common. */
  together: boolean
  /** ms in which some task waited. */
  psi: { cpu: number | null; io: number | null; memory: number | null }
  /** Of each control group above the engine that has a quota or had one. Null: no control group says. */
  throttling: Throttling[] | null
  rssBytes: number
  /** What of it is the processes' own: neither of files nor shared. */
  ownBytes: number
  pageCacheBytes: number | null
  memoryLimitBytes: number | null
  /** Bytes of files that were taken out of memory and read again. */
  refaultBytes: number | null
  /** Bytes read by the engine's processes: from the disk, and all. */
  diskBytes: number | null
  readBytes: number | null
  gpu?: GpuLook
}

export interface GpuLook {
  name: string
  memoryBytes: number | null
  watts: number | null
  /** Sums: seconds that were looked at, and those in which it had work. Null: it does not say. */
  hasWork: Measured | null
  /** The same of its SMs' activity, by GPM. */
  smActive: Measured | null
}

export interface Measured {
  seconds: number
  active: number
}
