/**
 * GPM, the counters of Hopper and newer GPUs: what share of the time the SMs, the tensor cores, the memory and the
 * JPEG engines really worked between two samples, where plain NVML only says whether any kernel ran at all.
 *
 *     nvmlGpmMetricsGet_t:  u32 version, u32 numMetrics, void *sample1, void *sample2, nvmlGpmMetric_t metrics[MAX]
 *     nvmlGpmMetric_t:      u32 metricId, i32 nvmlReturn, f64 value, char *shortName, char *longName, char *unit
 */
import { may, must, NOT_SUPPORTED, NvmlError, type NvmlLibrary, SUCCESS } from './library.js'

/** What the library needs of an open NVML: nvml.ts has it. */
interface Devices {
  readonly library: NvmlLibrary
  device(index: number): bigint
}

/** Percent of the time between two samples, or of what is possible; NaN for what this GPU has not. */
export interface GpmReading {
  /** Seconds between the two samples. */
  seconds: number
  /** Any part of the graphics and compute engines busy. */
  engines: number
  /** SMs with work, averaged over all SMs: the activity that matters. */
  sm: number
  /** Warps of those that would fit. */
  occupancy: number
  /** SMs using tensor cores. */
  tensor: number
  /** Of the memory's bandwidth. */
  dram: number
  fp32: number
  fp16: number
  /** Of each JPEG engine and each video decoder that the GPU has. */
  jpegEngines: number[]
  decoders: number[]
  /** Bytes a second to the GPU and from it. */
  pcieReceived: number
  pcieSent: number
}

/** One result, as NVML gives it. */
export interface GpmMetric {
  id: number
  status: number
  value: number
  /** Addresses of C strings, 0 if there is none. */
  shortName: bigint
  longName: bigint
  unit: bigint
}

const METRICS_GET_VERSION = 1
const SUPPORT_VERSION = 1
const HEADER_BYTES = 24
const METRIC_BYTES = 40
/** nvml.h had room for 98 metrics, then 210, then 333: enough for all of them, should a driver look behind ours. */
const METRIC_ROOM = 512

/** nvmlGpmMetricId_t. */
export const GPM_METRICS = {
  engines: 1,
  sm: 2,
  occupancy: 3,
  tensor: 5,
  dram: 10,
  fp32: 12,
  fp16: 13,
  pcieSent: 20,
  pcieReceived: 21,
} as const

const FIRST_DECODER = 30
const FIRST_JPEG = 40
const ENGINES = [0, 1, 2, 3, 4, 5, 6, 7]

const WANTED = [
  ...Object.values(GPM_METRICS),
  ...ENGINES.map(i => FIRST_DECODER + i),
  ...ENGINES.map(i => FIRST_JPEG + i),
]

const MIB = 2 ** 20

/** The time that two samples must be apart to mean something, as NVML recommends. */
const GPM_LEAST_MS = 100

export function encodeMetricsGet(before: bigint, after: bigint, ids: readonly number[]): Buffer {
  const struct = Buffer.alloc(HEADER_BYTES + METRIC_ROOM * METRIC_BYTES)
  struct.writeUInt32LE(METRICS_GET_VERSION, 0)
  struct.writeUInt32LE(ids.length, 4)
  struct.writeBigUInt64LE(before, 8)
  struct.writeBigUInt64LE(after, 16)
  ids.forEach((id, i) => void struct.writeUInt32LE(id, HEADER_BYTES + i * METRIC_BYTES))
  return struct
}

export function decodeMetricsGet(struct: Buffer): GpmMetric[] {
  return Array.from({ length: struct.readUInt32LE(4) }, (_, i) => {
    const at = HEADER_BYTES + i * METRIC_BYTES
    return {
      id: struct.readUInt32LE(at),
      status: struct.readInt32LE(at + 4),
      value: struct.readDoubleLE(at + 8),
      shortName: struct.readBigUInt64LE(at + 16),
      longName: struct.readBigUInt64LE(at + 24),
      unit: struct.readBigUInt64LE(at + 32),
    }
  })
}

/** Whether a GPU has these counters. */
export function gpmSupported(nvml: Devices, index: number): boolean {
  const support = Buffer.alloc(8) // nvmlGpmSupport_t: u32 version, u32 isSupportedDevice
  support.writeUInt32LE(SUPPORT_VERSION)
  if (!may(nvml.library, 'nvmlGpmQueryDeviceSupport', nvml.device(index), support)) return false
  return support.readUInt32LE(4) !== 0
}

/** The counters of one GPU from call to call. */
export class GpmSampler {
  readonly #library: NvmlLibrary
  readonly #device: bigint
  #before: bigint
  #after: bigint
  #since: number

  constructor(
    nvml: Devices,
    index: number,
    readonly now: () => number = () => performance.now(),
  ) {
    if (!gpmSupported(nvml, index)) throw new NvmlError('nvmlGpmQueryDeviceSupport', NOT_SUPPORTED)
    this.#library = nvml.library
    this.#device = nvml.device(index)
    this.#before = this.#alloc()
    this.#after = this.#alloc()
    try {
      this.#since = this.#sample(this.#before)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Since the last reading, or the beginning; undefined if that is less than 100 ms ago. */
  read(): GpmReading | undefined {
    const metrics = this.metrics(WANTED)
    return metrics && reading(metrics.seconds, metrics.list)
  }

  /** The same, for any metrics and as NVML gives them. */
  metrics(ids: readonly number[]): { seconds: number; list: GpmMetric[] } | undefined {
    if (this.now() - this.#since < GPM_LEAST_MS) return undefined
    const at = this.#sample(this.#after)
    const struct = encodeMetricsGet(this.#before, this.#after, ids)
    must(this.#library, 'nvmlGpmMetricsGet', struct)
    const seconds = (at - this.#since) / 1000
    this.#since = at
    ;[this.#before, this.#after] = [this.#after, this.#before]
    return { seconds, list: decodeMetricsGet(struct) }
  }

  close(): void {
    for (const sample of [this.#before, this.#after]) this.#library.call('nvmlGpmSampleFree', sample)
  }

  #alloc(): bigint {
    const handle = Buffer.alloc(8)
    must(this.#library, 'nvmlGpmSampleAlloc', handle)
    return handle.readBigUInt64LE()
  }

  #sample(to: bigint): number {
    must(this.#library, 'nvmlGpmSampleGet', this.#device, to)
    return this.now()
  }
}

function reading(seconds: number, list: readonly GpmMetric[]): GpmReading {
  const values = new Map(list.map(({ id, status, value }) => [id, status === SUCCESS ? value : Number.NaN]))
  const value = (id: number) => values.get(id) ?? Number.NaN
  const engines = (first: number) => ENGINES.map(i => value(first + i)).filter(share => !Number.isNaN(share))
  return {
    seconds,
    engines: value(GPM_METRICS.engines),
    sm: value(GPM_METRICS.sm),
    occupancy: value(GPM_METRICS.occupancy),
    tensor: value(GPM_METRICS.tensor),
    dram: value(GPM_METRICS.dram),
    fp32: value(GPM_METRICS.fp32),
    fp16: value(GPM_METRICS.fp16),
    jpegEngines: engines(FIRST_JPEG),
    decoders: engines(FIRST_DECODER),
    pcieReceived: value(GPM_METRICS.pcieReceived) * MIB,
    pcieSent: value(GPM_METRICS.pcieSent) * MIB,
  }
}
