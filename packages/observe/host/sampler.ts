/**
 * Looks at the machine that a run is on. A look is plain data and takes well under a millisecond; two of them say what
 * happened in between:
 *
 *     const host = new HostSampler({ engine: pid, trainer: pid })
 *     const before = host.look()
 *     …
 *     host.between(before, host.look()).otherCores
 */
import { monotonicMs } from '../../core/spans/clock.js'
import { readText } from '../../core/system/process/cgroup.js'
import { parseCores } from '../../core/system/process/core-list.js'
import type { HostSignals } from '../evidence.js'
import { between } from './between.js'
import { GpuSampler } from './gpu.js'
import { Groups } from './groups.js'
import type { HostLook } from './look.js'
import { parseStat } from './parse.js'
import { Processes } from './processes.js'

/** Affinity masks are read at most so often (ms). */
const PLACED = 1000

export interface HostSamplerOptions {
  /** The process whose threads make batches; several where makers are processes. This one unless told otherwise. */
  engine?: number | readonly number[]
  /** The process that takes the batches; the engine's unless told otherwise. */
  trainer?: number
  /** NVML's index of the GPU to look at; false: none. The first that CUDA sees unless told otherwise. */
  gpu?: number | false
  /** The folder that stands for `/`, in tests. */
  root?: string
  /** ms of CLOCK_MONOTONIC, in tests. */
  now?: () => number
}

export class HostSampler {
  private readonly root: string
  private readonly now: () => number
  private readonly engine: readonly number[]
  private readonly trainer: number
  private readonly processes: Processes
  private readonly groups: Groups
  private readonly gpu: GpuSampler | undefined
  /** Cores that the engine may use, as it was last seen; undefined: not known, so all. */
  private allowed: readonly number[] | undefined
  private together = true
  private placed = -Infinity

  constructor(options: HostSamplerOptions = {}) {
    const { engine = process.pid, gpu } = options
    this.root = options.root ?? '/'
    this.now = options.now ?? monotonicMs
    this.engine = typeof engine === 'number' ? [engine] : engine
    this.trainer = options.trainer ?? this.engine[0] ?? process.pid
    this.processes = new Processes(this.engine, this.trainer, this.root)
    this.groups = new Groups(this.engine[0] ?? this.trainer, this.root)
    this.gpu = gpu === false || this.root !== '/' ? undefined : GpuSampler.open(gpu)
  }

  look(): HostLook {
    const at = this.now()
    if (at - this.placed >= PLACED) this.place(at)
    const gpu = this.gpu?.look()
    return {
      at,
      cores: parseStat(readText(this.root, '/proc/stat') ?? '').filter(
        ({ core }) => this.allowed?.includes(core) ?? true,
      ),
      together: this.together,
      ...this.processes.look(at),
      ...this.groups.look(),
      ...(gpu && { gpu }),
    }
  }

  between(a: HostLook, b: HostLook): HostSignals {
    return between(a, b)
  }

  /** Lets go of the GPU's library. */
  close(): void {
    this.gpu?.close()
  }

  /** Where engine and trainer may run. */
  private place(at: number): void {
    this.placed = at
    this.allowed = this.coresOf(this.engine[0] ?? this.trainer) ?? this.allowed
    const theirs = this.coresOf(this.trainer)
    this.together = theirs === undefined || (this.allowed?.some(core => theirs.includes(core)) ?? true)
  }

  /** The affinity mask of a process. */
  private coresOf(pid: number): number[] | undefined {
    const status = readText(this.root, `/proc/${pid}/status`) ?? ''
    const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(status)?.[1]
    return list === undefined ? undefined : (parseCores(list) ?? undefined)
  }
}
