/**
 * libnvidia-ml as a table of C functions. It is loaded by `loadNvml`, never on import, and each function is
 * looked up when it is first called: drivers differ in what they have, and one that lacks a function answers
 * NVML_ERROR_FUNCTION_NOT_FOUND like the library itself would.
 */
import type { LibraryHandle } from 'koffi'
import { MillraceError } from '../../basics/errors.js'
import { koffi } from '../native.js'

/** Handles are addresses (bigint); what a function fills in is a Buffer. */
export type NvmlArgument = number | bigint | Buffer

/** What the rest needs of the library; tests bring one of their own. */
export interface NvmlLibrary {
  /** Calls a function and returns its nvmlReturn_t. */
  call(name: NvmlFunction, ...args: NvmlArgument[]): number
}

/** Parameters of every function that we call; nvmlDevice_t and nvmlGpmSample_t are structs of one pointer. */
const FUNCTIONS = {
  nvmlInit_v2: 'void',
  nvmlShutdown: 'void',
  nvmlSystemGetDriverVersion: 'void *text, unsigned int length',
  nvmlSystemGetCudaDriverVersion_v2: 'void *version',
  nvmlDeviceGetCount_v2: 'void *count',
  nvmlDeviceGetHandleByIndex_v2: 'unsigned int index, void *device',
  nvmlDeviceGetName: 'void *device, void *text, unsigned int length',
  nvmlDeviceGetUUID: 'void *device, void *text, unsigned int length',
  nvmlDeviceGetPciInfo_v3: 'void *device, void *pci',
  nvmlDeviceGetMemoryInfo: 'void *device, void *memory',
  nvmlDeviceGetUtilizationRates: 'void *device, void *utilization',
  nvmlDeviceGetPowerUsage: 'void *device, void *milliwatts',
  nvmlDeviceGetCurrentClocksEventReasons: 'void *device, void *reasons',
  nvmlDeviceGetCurrentClocksThrottleReasons: 'void *device, void *reasons',
  nvmlDeviceGetCurrPcieLinkGeneration: 'void *device, void *generation',
  nvmlDeviceGetCurrPcieLinkWidth: 'void *device, void *lanes',
  nvmlDeviceGetMaxPcieLinkGeneration: 'void *device, void *generation',
  nvmlDeviceGetMaxPcieLinkWidth: 'void *device, void *lanes',
  nvmlGpmQueryDeviceSupport: 'void *device, void *support',
  nvmlGpmSampleAlloc: 'void *sample',
  nvmlGpmSampleGet: 'void *device, void *sample',
  nvmlGpmSampleFree: 'void *sample',
  nvmlGpmMetricsGet: 'void *metrics',
} as const

export type NvmlFunction = keyof typeof FUNCTIONS

/** nvmlReturn_t by number, without its prefix. */
const STATUSES = [
  'SUCCESS',
  'UNINITIALIZED',
  'INVALID_ARGUMENT',
  'NOT_SUPPORTED',
  'NO_PERMISSION',
  'ALREADY_INITIALIZED',
  'NOT_FOUND',
  'INSUFFICIENT_SIZE',
  'INSUFFICIENT_POWER',
  'DRIVER_NOT_LOADED',
  'TIMEOUT',
  'IRQ_ISSUE',
  'LIBRARY_NOT_FOUND',
  'FUNCTION_NOT_FOUND',
  'CORRUPTED_INFOROM',
  'GPU_IS_LOST',
  'RESET_REQUIRED',
  'OPERATING_SYSTEM',
  'LIB_RM_VERSION_MISMATCH',
  'IN_USE',
  'MEMORY',
  'NO_DATA',
  'VGPU_ECC_NOT_SUPPORTED',
  'INSUFFICIENT_RESOURCES',
  'FREQ_NOT_SUPPORTED',
  'ARGUMENT_VERSION_MISMATCH',
  'DEPRECATED',
  'NOT_READY',
  'GPU_NOT_FOUND',
  'INVALID_STATE',
  'RESET_TYPE_NOT_SUPPORTED',
] as const

/** What to do about some of them. */
const REMEDIES: Record<string, string> = {
  DRIVER_NOT_LOADED: 'load the NVIDIA kernel driver (nvidia-smi must work), or give the container its GPUs',
  LIB_RM_VERSION_MISMATCH: 'the driver was updated under the running kernel module: restart the machine',
  GPU_IS_LOST: 'the GPU fell off the bus: look for Xid in the kernel log and restart the machine',
  RESET_REQUIRED: 'reset the GPU (nvidia-smi --gpu-reset) or restart the machine',
  NO_PERMISSION: 'give the process access to /dev/nvidia*, or ask the administrator',
}

export const SUCCESS = 0
export const NOT_SUPPORTED = STATUSES.indexOf('NOT_SUPPORTED')
const FUNCTION_NOT_FOUND = STATUSES.indexOf('FUNCTION_NOT_FOUND')

/** Answers that mean "this card, driver or user does not get this value", not "something is wrong". */
const WITHOUT: readonly number[] = [
  'NOT_SUPPORTED',
  'NO_PERMISSION',
  'NOT_FOUND',
  'FUNCTION_NOT_FOUND',
  'NO_DATA',
  'DEPRECATED',
].map(name => STATUSES.indexOf(name as (typeof STATUSES)[number]))

/** A call of NVML failed. `status` is the name that NVML gives it. */
export class NvmlError extends MillraceError {
  override readonly tag = 'Nvml'
  readonly status: string
  constructor(
    readonly call: string,
    code: number,
  ) {
    const status = statusName(code)
    const remedy = REMEDIES[status.replace(/^NVML_(ERROR_)?/, '')]
    super(`${call} failed with ${status} (${code})${remedy === undefined ? '' : `: ${remedy}`}`)
    this.status = status
  }
}

export function statusName(code: number): string {
  if (code === SUCCESS) return 'NVML_SUCCESS'
  return `NVML_ERROR_${STATUSES[code] ?? 'UNKNOWN'}`
}

/** Calls a function that has to work. */
export function must(library: NvmlLibrary, name: NvmlFunction, ...args: NvmlArgument[]): void {
  const code = library.call(name, ...args)
  if (code !== SUCCESS) throw new NvmlError(name, code)
}

/** Calls a function for a value that not every GPU has; false if this one does not have it. */
export function may(library: NvmlLibrary, name: NvmlFunction, ...args: NvmlArgument[]): boolean {
  const code = library.call(name, ...args)
  if (code === SUCCESS) return true
  if (WITHOUT.includes(code)) return false
  throw new NvmlError(name, code)
}

/** The name under which the driver installs it; it comes with the driver and lies on the loader's path. */
const NVML_FILE = 'libnvidia-ml.so.1'

/** The installed library; undefined where there is none. */
export function loadNvml(file = NVML_FILE): NvmlLibrary | undefined {
  let native: LibraryHandle
  try {
    native = koffi.load(file)
  } catch {
    return undefined
  }
  const found = new Map<NvmlFunction, ReturnType<LibraryHandle['func']> | undefined>()
  const find = (name: NvmlFunction) => {
    try {
      return native.func(`int ${name}(${FUNCTIONS[name]})`)
    } catch {
      return undefined
    }
  }
  return {
    call(name, ...args) {
      if (!found.has(name)) found.set(name, find(name))
      return found.get(name)?.(...args) ?? FUNCTION_NOT_FOUND
    },
  }
}
