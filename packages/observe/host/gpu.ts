/** The GPU of a run, look by look. What NVML gives for a moment is counted for the time since the look before. */
import { GpmSampler, gpmSupported } from '../../core/system/nvml/gpm.js'
import { type Nvml, openNvml } from '../../core/system/nvml/nvml.js'
import { gpuCount } from '../../core/system/process/limits.js'
import type { GpuLook, Measured } from './look.js'

/** The part of GpmSampler that is used. */
interface Gpm {
  read(): { seconds: number; engines: number; sm: number } | undefined
  close(): void
}

export class GpuSampler {
  readonly name: string
  private readonly work: Measured = { seconds: 0, active: 0 }
  private readonly sm: Measured = { seconds: 0, active: 0 }
  private last: number

  constructor(
    private readonly nvml: Nvml,
    private readonly index: number,
    private readonly gpm: Gpm | undefined,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.name = nvml.describe(index).name
    this.last = now()
  }

  /** Undefined where there is no GPU, or NVML does not work. `index` is NVML's. It takes some ms, when the driver wakes up more. */
  static open(index = visibleGpu()): GpuSampler | undefined {
    if (index === undefined) return undefined
    let nvml: Nvml | undefined
    try {
      nvml = openNvml()
      if (nvml === undefined) return undefined
      return new GpuSampler(nvml, index, gpmSupported(nvml, index) ? new GpmSampler(nvml, index) : undefined)
    } catch {
      nvml?.close()
      return undefined
    }
  }

  look(): GpuLook | undefined {
    try {
      const { memory, watts, utilization } = this.nvml.read(this.index)
      const now = this.now()
      const seconds = (now - this.last) / 1000
      this.last = now
      if (this.gpm === undefined) count(this.work, seconds, utilization)
      else this.counters(this.gpm)
      return {
        name: this.name,
        memoryBytes: known(memory.used),
        watts: known(watts),
        hasWork: this.gpm === undefined && Number.isNaN(utilization) ? null : { ...this.work },
        smActive: this.gpm === undefined ? null : { ...this.sm },
      }
    } catch {
      return undefined // the GPU is lost: the run will say so itself
    }
  }

  close(): void {
    this.gpm?.close()
    this.nvml.close()
  }

  /** Counters of the whole time since the last look; a look that comes too soon leaves it to the next. */
  private counters(gpm: Gpm): void {
    const reading = gpm.read()
    if (reading === undefined) return
    count(this.work, reading.seconds, reading.engines)
    count(this.sm, reading.seconds, reading.sm)
  }
}

function count(measured: Measured, seconds: number, percent: number): void {
  if (Number.isNaN(percent)) return
  measured.seconds += seconds
  measured.active += (seconds * percent) / 100
}

/** The first GPU that CUDA programs see, by its number. */
function visibleGpu(): number | undefined {
  if (gpuCount() === 0) return undefined
  const first = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0].trim()
  return first !== undefined && /^\d+$/.test(first) ? Number(first) : 0
}

function known(number: number): number | null {
  return Number.isFinite(number) ? number : null
}
