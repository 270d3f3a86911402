/**
 * NVML, NVIDIA's library for looking at GPUs: what a GPU is (`describe`), how it is doing (`read`). What a card, its
 * driver or the user's rights do not give is NaN or an empty list; what goes wrong is an NvmlError with NVML's name.
 *
 * Indices are NVML's: all GPUs that the process may reach in the order of the PCI bus. CUDA_VISIBLE_DEVICES, and
 * CUDA's own order (fastest first, unless CUDA_DEVICE_ORDER=PCI_BUS_ID), may give them other numbers there.
 */
import {
  given,
  INSUFFICIENT_SIZE,
  loadNvml,
  may,
  must,
  type NvmlArgument,
  type NvmlFunction,
  type NvmlLibrary,
} from './library.js'
import * as structs from './structs.js'

export { NvmlError } from './library.js'

/** What stays as it is. */
export interface GpuDescription {
  index: number
  name: string
  uuid: string
  /** PCI bus id, `00000000:19:00.0`. */
  bus: string
  /** Compute capability, `9.0` for Hopper; '' if unknown. */
  capability: string
  /** Bytes of device memory. */
  memory: number
  /** Cores near this GPU: its NUMA node's. */
  cores: number[]
  /** The best link that GPU and slot can have together. */
  pcie: PcieLink
  /** MHz, at most. */
  clocks: GpuClocks
}

export interface PcieLink {
  generation: number
  /** Lanes. */
  width: number
}

export interface GpuClocks {
  sm: number
  memory: number
}

/** How it is doing now. */
export interface GpuReading {
  index: number
  memory: structs.GpuMemory
  /**
   * Percent of the driver's last period (1/6 to 1 s) in which any kernel ran, device memory was read or written,
   * the video decoders and the JPEG engines were busy. "Any kernel" says little; GpmSampler (gpm.ts) measures how busy the SMs are.
   */
  utilization: { gpu: number; memory: number; decoder: number; jpeg: number }
  /** Watts. */
  power: { now: number; limit: number }
  /** °C. */
  temperature: number
  /** MHz. */
  clocks: GpuClocks
  /** What keeps the clocks down. */
  clockEvents: structs.ClockEvent[]
  /** An idle GPU saves power with a link of a lower generation. */
  pcie: PcieLink
  processes: structs.GpuProcess[]
}

/** Bytes a second, to the GPU and from it. */
export interface PcieThroughput {
  received: number
  sent: number
}

const TEXT_BYTES = 96 // the longest that nvml.h asks for: NVML_DEVICE_NAME_V2_BUFFER_SIZE
const AFFINITY_WORDS = 128 // of 64 bits: 8,192 cores
const SM_CLOCK = 1
const MEMORY_CLOCK = 2
const PCIE_SENT = 0
const PCIE_RECEIVED = 1

/**
 * NVML, ready for use; undefined on a machine without it. Throws an NvmlError where it is installed and does not
 * work. Close it when done.
 */
export function openNvml(library = loadNvml()): Nvml | undefined {
  if (library === undefined) return undefined
  must(library, 'nvmlInit_v2')
  return new Nvml(library)
}

export class Nvml {
  readonly #devices = new Map<number, bigint>()

  constructor(readonly library: NvmlLibrary) {}

  /** The driver's version, `580.95.05`. */
  get driver(): string {
    return this.#text('nvmlSystemGetDriverVersion')
  }

  /** The newest CUDA that the driver serves, `13.0`. */
  get cuda(): string {
    const version = this.#u32('nvmlSystemGetCudaDriverVersion_v2')
    return Number.isNaN(version) ? '' : structs.cudaVersionText(version)
  }

  /** GPUs of the machine or container. */
  get count(): number {
    const count = Buffer.alloc(4)
    must(this.library, 'nvmlDeviceGetCount_v2', count)
    return count.readUInt32LE()
  }

  /** The handle of a GPU. Touching it for the first time may wake it up, which takes a while. */
  device(index: number): bigint {
    const known = this.#devices.get(index)
    if (known !== undefined) return known
    const handle = Buffer.alloc(8)
    must(this.library, 'nvmlDeviceGetHandleByIndex_v2', index, handle)
    this.#devices.set(index, handle.readBigUInt64LE())
    return handle.readBigUInt64LE()
  }

  describe(index: number): GpuDescription {
    const device = this.device(index)
    const pci = this.#fill(structs.PCI_BYTES, 'nvmlDeviceGetPciInfo_v3', device)
    const cores = Buffer.alloc(AFFINITY_WORDS * 8)
    const known = may(this.library, 'nvmlDeviceGetCpuAffinity', device, AFFINITY_WORDS, cores)
    return {
      index,
      name: this.#text('nvmlDeviceGetName', device),
      uuid: this.#text('nvmlDeviceGetUUID', device),
      bus: pci === undefined ? '' : structs.decodeBusId(pci),
      capability: this.#capability(device),
      memory: this.#memory(device).total,
      cores: known ? structs.decodeCores(cores) : [],
      pcie: {
        generation: this.#u32('nvmlDeviceGetMaxPcieLinkGeneration', device),
        width: this.#u32('nvmlDeviceGetMaxPcieLinkWidth', device),
      },
      clocks: {
        sm: this.#u32('nvmlDeviceGetMaxClockInfo', device, SM_CLOCK),
        memory: this.#u32('nvmlDeviceGetMaxClockInfo', device, MEMORY_CLOCK),
      },
    }
  }

  /** A few calls into the driver. Not among them: the traffic over PCIe, for which NVML watches it for a while. */
  read(index: number): GpuReading {
    const device = this.device(index)
    const rates = this.#fill(8, 'nvmlDeviceGetUtilizationRates', device)
    return {
      index,
      memory: this.#memory(device),
      utilization: {
        gpu: rates?.readUInt32LE(0) ?? Number.NaN,
        memory: rates?.readUInt32LE(4) ?? Number.NaN,
        decoder: this.#engine('nvmlDeviceGetDecoderUtilization', device),
        jpeg: this.#engine('nvmlDeviceGetJpgUtilization', device),
      },
      power: {
        now: this.#u32('nvmlDeviceGetPowerUsage', device) / 1000,
        limit: this.#u32('nvmlDeviceGetEnforcedPowerLimit', device) / 1000,
      },
      temperature: this.#u32('nvmlDeviceGetTemperature', device, 0),
      clocks: {
        sm: this.#u32('nvmlDeviceGetClockInfo', device, SM_CLOCK),
        memory: this.#u32('nvmlDeviceGetClockInfo', device, MEMORY_CLOCK),
      },
      clockEvents: this.#clockEvents(device),
      pcie: {
        generation: this.#u32('nvmlDeviceGetCurrPcieLinkGeneration', device),
        width: this.#u32('nvmlDeviceGetCurrPcieLinkWidth', device),
      },
      processes: this.#processes(device),
    }
  }

  /** Watches the link for 20 ms in each direction, and blocks for as long. GpmSampler measures it over longer times. */
  pcieThroughput(index: number): PcieThroughput {
    const device = this.device(index)
    return {
      received: this.#u32('nvmlDeviceGetPcieThroughput', device, PCIE_RECEIVED) * 1000,
      sent: this.#u32('nvmlDeviceGetPcieThroughput', device, PCIE_SENT) * 1000,
    }
  }

  close(): void {
    this.library.call('nvmlShutdown')
    this.#devices.clear()
  }

  #capability(device: bigint): string {
    const [major, minor] = [Buffer.alloc(4), Buffer.alloc(4)]
    if (!may(this.library, 'nvmlDeviceGetCudaComputeCapability', device, major, minor)) return ''
    return `${major.readUInt32LE()}.${minor.readUInt32LE()}`
  }

  #memory(device: bigint): structs.GpuMemory {
    const struct = this.#fill(structs.MEMORY_BYTES, 'nvmlDeviceGetMemoryInfo', device)
    if (struct === undefined) return { total: Number.NaN, free: Number.NaN, used: Number.NaN }
    return structs.decodeMemory(struct)
  }

  /** Older drivers have it under the name that it had before. */
  #clockEvents(device: bigint): structs.ClockEvent[] {
    const mask =
      this.#fill(8, 'nvmlDeviceGetCurrentClocksEventReasons', device) ??
      this.#fill(8, 'nvmlDeviceGetCurrentClocksThrottleReasons', device)
    return mask === undefined ? [] : structs.decodeClockEvents(mask)
  }

  /** There may be more of them than there is room for: asked again with twice the room. */
  #processes(device: bigint, room = 16): structs.GpuProcess[] {
    const count = Buffer.alloc(4)
    count.writeUInt32LE(room)
    const list = Buffer.alloc(room * structs.PROCESS_BYTES)
    const code = this.library.call('nvmlDeviceGetComputeRunningProcesses_v3', device, count, list)
    if (code === INSUFFICIENT_SIZE) return this.#processes(device, room * 2)
    return given('nvmlDeviceGetComputeRunningProcesses_v3', code)
      ? structs.decodeProcesses(list, count.readUInt32LE())
      : []
  }

  #engine(name: NvmlFunction, device: bigint): number {
    const [percent, period] = [Buffer.alloc(4), Buffer.alloc(4)]
    return may(this.library, name, device, percent, period) ? percent.readUInt32LE() : Number.NaN
  }

  #u32(name: NvmlFunction, ...args: NvmlArgument[]): number {
    return this.#fill(4, name, ...args)?.readUInt32LE() ?? Number.NaN
  }

  #text(name: NvmlFunction, ...args: NvmlArgument[]): string {
    const text = Buffer.alloc(TEXT_BYTES)
    return may(this.library, name, ...args, text, TEXT_BYTES) ? structs.cString(text) : ''
  }

  /** What a function writes to its last argument. */
  #fill(bytes: number, name: NvmlFunction, ...args: NvmlArgument[]): Buffer | undefined {
    const struct = Buffer.alloc(bytes)
    return may(this.library, name, ...args, struct) ? struct : undefined
  }
}
