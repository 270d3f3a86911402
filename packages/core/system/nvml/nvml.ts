/**
 * NVML, NVIDIA's library for looking at GPUs: what a GPU is (`describe`), how it is doing (`read`). What a card, its
 * driver or the user's rights do not give is NaN or an empty list; what goes wrong is an NvmlError with NVML's name.
 *
 * Indices are NVML's: all GPUs that the process may reach in the order of the PCI bus. CUDA_VISIBLE_DEVICES, and
 * CUDA's own order (fastest first, unless CUDA_DEVICE_ORDER=PCI_BUS_ID), may give them other numbers there.
 *
 * Structs of nvml.h are little-endian, with C's alignment on 64-bit machines.
 */
import { loadNvml, may, must, type NvmlArgument, type NvmlFunction, type NvmlLibrary } from './library.js'

export { NvmlError } from './library.js'

/** What stays as it is. */
export interface GpuDescription {
  index: number
  name: string
  uuid: string
  /** PCI bus id, `00000000:19:00.0`. */
  bus: string
  /** Bytes of device memory. */
  memory: number
  /** The best link that GPU and slot can have together. */
  pcie: PcieLink
}

export interface PcieLink {
  generation: number
  /** Lanes. */
  width: number
}

/** How it is doing now. */
export interface GpuReading {
  index: number
  /** Bytes. What the driver keeps for itself is counted as used. */
  memory: { free: number; used: number }
  /**
   * Percent of the driver's last period (1/6 to 1 s) in which any kernel ran. "Any kernel" says little; GpmSampler (gpm.ts) measures how
   * busy the SMs are.
   */
  utilization: number
  watts: number
  /** What keeps the clocks down. */
  clockEvents: ClockEvent[]
  /** An idle GPU saves power with a link of a lower generation. */
  pcie: PcieLink
}

/** The longest that nvml.h asks for: NVML_DEVICE_NAME_V2_BUFFER_SIZE. */
const TEXT_BYTES = 96
/** nvmlMemory_t: u64 total, free, used. */
const MEMORY_BYTES = 24
/** nvmlPciInfo_t: char busIdLegacy[16], u32 domain, bus, device, pciDeviceId, pciSubSystemId, char busId[32]. */
const PCI_BYTES = 68
const BUS_ID_AT = 36

/** Bits of nvmlClocksEventReasons, in order; the names are ours. */
const CLOCK_EVENTS = [
  'idle',
  'clocks set by the user',
  'power cap',
  'hardware slowdown',
  'sync boost',
  'thermal slowdown',
  'hardware thermal slowdown',
  'power brake',
  'display clocks',
] as const

export type ClockEvent = (typeof CLOCK_EVENTS)[number]

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
    return Number.isNaN(version) ? '' : cudaVersionText(version)
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
    const pci = this.#fill(PCI_BYTES, 'nvmlDeviceGetPciInfo_v3', device)
    return {
      index,
      name: this.#text('nvmlDeviceGetName', device),
      uuid: this.#text('nvmlDeviceGetUUID', device),
      bus: pci === undefined ? '' : cString(pci.subarray(BUS_ID_AT)),
      memory: this.#memory(device, 0),
      pcie: {
        generation: this.#u32('nvmlDeviceGetMaxPcieLinkGeneration', device),
        width: this.#u32('nvmlDeviceGetMaxPcieLinkWidth', device),
      },
    }
  }

  /** A few calls into the driver. */
  read(index: number): GpuReading {
    const device = this.device(index)
    // Older drivers have it under the name that it had before.
    const events =
      this.#fill(8, 'nvmlDeviceGetCurrentClocksEventReasons', device) ??
      this.#fill(8, 'nvmlDeviceGetCurrentClocksThrottleReasons', device)
    const mask = events?.readBigUInt64LE() ?? 0n
    return {
      index,
      memory: { free: this.#memory(device, 8), used: this.#memory(device, 16) },
      utilization: this.#fill(8, 'nvmlDeviceGetUtilizationRates', device)?.readUInt32LE() ?? Number.NaN,
      watts: this.#u32('nvmlDeviceGetPowerUsage', device) / 1000,
      clockEvents: CLOCK_EVENTS.filter((_, bit) => (mask >> BigInt(bit)) & 1n),
      pcie: {
        generation: this.#u32('nvmlDeviceGetCurrPcieLinkGeneration', device),
        width: this.#u32('nvmlDeviceGetCurrPcieLinkWidth', device),
      },
    }
  }

  close(): void {
    this.library.call('nvmlShutdown')
  }

  #memory(device: bigint, at: number): number {
    const struct = this.#fill(MEMORY_BYTES, 'nvmlDeviceGetMemoryInfo', device)
    return struct === undefined ? Number.NaN : Number(struct.readBigUInt64LE(at))
  }

  #u32(name: NvmlFunction, ...args: NvmlArgument[]): number {
    return this.#fill(4, name, ...args)?.readUInt32LE() ?? Number.NaN
  }

  #text(name: NvmlFunction, ...args: NvmlArgument[]): string {
    const text = Buffer.alloc(TEXT_BYTES)
    return may(this.library, name, ...args, text, TEXT_BYTES) ? cString(text) : ''
  }

  /** What a function writes to its last argument. */
  #fill(bytes: number, name: NvmlFunction, ...args: NvmlArgument[]): Buffer | undefined {
    const struct = Buffer.alloc(bytes)
    return may(this.library, name, ...args, struct) ? struct : undefined
  }
}

/** 13020 → `13.2`. */
export function cudaVersionText(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`
}

function cString(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end)
}
