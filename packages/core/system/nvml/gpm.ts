/**
 * GPM, the counters of Hopper and newer GPUs: what share of the time the engines and the SMs really worked between two samples,
 * where plain NVML only says whether any kernel ran at all.
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

/** Percent of the time between two samples; NaN for what this GPU has not. */
export interface GpmReading {
  /** Seconds between the two samples. */
  seconds: number
  /** Any part of the graphics and compute engines busy. */
  engines: number
  /** SMs with work, averaged over all SMs: the activity that matters. */
  sm: number
}

const METRICS_GET_VERSION = 1
const SUPPORT_VERSION = 1
const HEADER_BYTES = 24
const METRIC_BYTES = 40
/** nvml.h had room for 98 metrics, then 210, then 333: enough for all of them, should a driver look behind ours. */
const METRIC_ROOM = 512
/** nvmlGpmMetricId_t of `engines` and `sm`. */
const METRIC_IDS = [1, 2]
/** Two samples must be this far apart to mean something, as NVML recommends. */
const LEAST_APART_MS = 100

/** True where a GPU has these counters. */
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
    if (this.now() - this.#since < LEAST_APART_MS) return undefined
    const at = this.#sample(this.#after)
    const struct = Buffer.alloc(HEADER_BYTES + METRIC_ROOM * METRIC_BYTES)
    struct.writeUInt32LE(METRICS_GET_VERSION, 0)
    struct.writeUInt32LE(METRIC_IDS.length, 4)
    struct.writeBigUInt64LE(this.#before, 8)
    struct.writeBigUInt64LE(this.#after, 16)
    METRIC_IDS.forEach((id, i) => void struct.writeUInt32LE(id, HEADER_BYTES + i * METRIC_BYTES))
    must(this.#library, 'nvmlGpmMetricsGet', struct)
    const [engines, sm] = METRIC_IDS.map((_, i) => {
      const metric = HEADER_BYTES + i * METRIC_BYTES
      return struct.readInt32LE(metric + 4) === SUCCESS ? struct.readDoubleLE(metric + 8) : Number.NaN
    })
    const seconds = (at - this.#since) / 1000
    this.#since = at
    ;[this.#before, this.#after] = [this.#after, this.#before]
    return { seconds, engines, sm }
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
