/**
 * The functions of libcuda that we call, as they are in C. Handles and device addresses are 64-bit integers; where the
 * driver writes a result it gets a Buffer. Each returns a CUresult. Tests put a record of calls in their place.
 */
import { koffi } from '../../core/system/native.js'
import { loadLibrary } from './libraries/find.js'

export type Argument = number | bigint | Uint8Array | string | null

const PROTOTYPES = {
  cuInit: 'unsigned int flags',
  cuDriverGetVersion: 'void *version',
  cuDeviceGetCount: 'void *count',
  cuDeviceGet: 'void *device, int ordinal',
  cuDeviceGetName: 'void *name, int length, int device',
  cuDeviceGetAttribute: 'void *value, int attribute, int device',
  cuDevicePrimaryCtxRetain: 'void *context, int device',
  cuDevicePrimaryCtxRelease_v2: 'int device',
  cuCtxSetCurrent: 'uint64_t context',
  cuCtxGetCurrent: 'void *context',
  cuCtxGetStreamPriorityRange: 'void *least, void *greatest',
  cuStreamCreateWithPriority: 'void *stream, unsigned int flags, int priority',
  cuStreamDestroy_v2: 'uint64_t stream',
  cuStreamSynchronize: 'uint64_t stream',
  cuStreamWaitEvent: 'uint64_t stream, uint64_t event, unsigned int flags',
  cuEventCreate: 'void *event, unsigned int flags',
  cuEventDestroy_v2: 'uint64_t event',
  cuEventRecord: 'uint64_t event, uint64_t stream',
  cuEventQuery: 'uint64_t event',
  cuEventSynchronize: 'uint64_t event',
  cuMemAlloc_v2: 'void *pointer, size_t bytes',
  cuMemFree_v2: 'uint64_t pointer',
  cuMemHostAlloc: 'void *pointer, size_t bytes, unsigned int flags',
  cuMemFreeHost: 'uint64_t pointer',
  cuMemHostRegister_v2: 'uint64_t pointer, size_t bytes, unsigned int flags',
  cuMemHostUnregister: 'uint64_t pointer',
  cuMemcpyHtoDAsync_v2: 'uint64_t to, uint64_t from, size_t bytes, uint64_t stream',
  cuMemcpyDtoHAsync_v2: 'uint64_t to, uint64_t from, size_t bytes, uint64_t stream',
  cuMemcpy2DAsync_v2: 'void *copy, uint64_t stream',
  cuMemsetD8Async: 'uint64_t to, unsigned char value, size_t bytes, uint64_t stream',
  cuModuleLoadData: 'void *module, void *image',
  cuModuleUnload: 'uint64_t module',
  cuModuleGetFunction: 'void *function, uint64_t module, const char *name',
  cuLaunchKernel:
    'uint64_t function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, ' +
    'unsigned int blockY, unsigned int blockZ, unsigned int shared, uint64_t stream, void *arguments, void *extra',
} as const

export type DriverCall = keyof typeof PROTOTYPES

export type DriverCalls = Readonly<Record<DriverCall, (...args: Argument[]) => number>> & {
  /** CUDA_ERROR_… of a CUresult, and the driver's own words for it. */
  errorName(status: number): string
  errorText(status: number): string
}

/** Loads libcuda and binds its functions. */
export function bindDriver(): DriverCalls {
  const library = loadLibrary('cuda')
  const bound = Object.entries(PROTOTYPES).map(([name, parameters]) => [
    name,
    library.func(`int ${name}(${parameters})`),
  ])
  const text = (name: string): ((status: number) => string) => {
    const ask = library.func(`int ${name}(int status, _Out_ const char **text)`)
    return status => {
      const out: (string | null)[] = [null]
      ask(status, out)
      return out[0] ?? `CUresult ${status}`
    }
  }
  return {
    ...(Object.fromEntries(bound) as Record<DriverCall, (...args: Argument[]) => number>),
    errorName: text('cuGetErrorName'),
    errorText: text('cuGetErrorString'),
  }
}

/** Address of a buffer's first byte, for structs that point into it. It must stay referenced while it is used. */
export function addressOfBytes(bytes: Uint8Array): bigint {
  return BigInt(koffi.address(bytes))
}
