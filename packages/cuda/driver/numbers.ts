/**
 * Numbers and names of NVIDIA's libraries that we use, from their headers. Python's copy (python/millrace/_generated/) is
 * generated from this file: npm run generate.
 */

/** Statuses of the driver that are no failure for us: no GPU is there, and an event that has not happened yet. */
export const CudaStatus = { NoDevice: 100, NotReady: 600 } as const

/** The stream waits for no other: CU_STREAM_NON_BLOCKING. */
export const STREAM_NON_BLOCKING = 1

/** Threads that wait for an event sleep instead of spinning, and no time is taken: what makes an event cheap. */
export const EVENT_FLAGS = 1 | 2

/** Page-locked memory is that for all contexts of the process. */
export const HOST_PORTABLE = 1

/** Attributes of a device: how many multiprocessors, and its compute capability. */
export const DeviceAttribute = { Multiprocessors: 16, CapabilityMajor: 75, CapabilityMinor: 76 } as const

/** Kinds of memory in CUDA_MEMCPY2D. */
export const MemoryType = { Host: 1, Device: 2 } as const

/** Streams of a process share 8 of CUDA's queues unless it asks for more, in the environment. */
export const QUEUES_VARIABLE = 'CUDA_DEVICE_MAX_CONNECTIONS'
export const MOST_QUEUES = '32'

/**
 * What kernels are compiled with, beside the architecture. Contraction is off: results are to be those of the CPU,
 * operation by operation.
 */
export const COMPILE_OPTIONS = ['--fmad=false', '--std=c++17', '-default-device'] as const

/** nvJPEG's back ends. */
export const NvjpegBackend = {
  /** The GPU's cores, for large batches; a thread of the CPU otherwise. */
  Hybrid: 2,
  /** The JPEG engines (A100 and later). */
  Hardware: 3,
} as const

/** nvJPEG's form of pixels: interleaved RGB. */
export const NVJPEG_OUTPUT_RGBI = 5

/** Chroma is interpolated as libjpeg-turbo does it: results differ by 1e-4 of a level. */
export const NVJPEG_INTERPOLATE_CHROMA = 32

/** Major versions of nvCOMP that we know. */
export const NVCOMP_MAJORS = [6, 5, 4] as const

/** nvCOMP is to use the GPU's cores: the engines of newer GPUs want memory of a special kind. */
export const NVCOMP_BACKEND_CUDA = 2

/** Bytes of nvcompBatched…DecompressOpts_t: the back end, an int, and zeros. */
export const NVCOMP_OPTIONS_BYTES = 64

/** Codecs as a field has them, and as nvCOMP calls them. */
export const NVCOMP_CODECS = { zstd: 'Zstd', lz4: 'LZ4', deflate: 'Deflate' } as const

/** nvCOMP's names of its statuses: it has no function that tells them. */
export const NVCOMP_STATUSES: Readonly<Record<number, string>> = {
  0: 'nvcompSuccess',
  10: 'nvcompErrorInvalidValue',
  11: 'nvcompErrorNotSupported',
  12: 'nvcompErrorCannotDecompress',
  13: 'nvcompErrorBadChecksum',
  14: 'nvcompErrorCannotVerifyChecksums',
  15: 'nvcompErrorOutputBufferTooSmall',
  16: 'nvcompErrorWrongHeaderLength',
  17: 'nvcompErrorAlignment',
  18: 'nvcompErrorChunkSizeTooLarge',
  19: 'nvcompErrorCannotCompress',
  20: 'nvcompErrorWrongInputLength',
  21: 'nvcompErrorBatchSizeTooLarge',
  1000: 'nvcompErrorCudaError',
  10000: 'nvcompErrorInternal',
}
