/**
 * nvJPEG's statuses (nvjpegStatus_t), and what is done about each. nvJPEG never says that a sample is bad: what it
 * refuses is decoded by a worker, on the CPU, and only that one may find the sample bad. Python's copy
 * (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/**
 * What is done when decoding ends with a status:
 *
 *   go on    all pictures are decoded
 *   redo     a picture was refused; halves of the batch are tried until it is found, and a worker decodes it
 *   reopen   the same, but nvJPEG may be left in the middle of something: it is opened anew before it is used again
 *   fatal    it is about the GPU or the library, not about a picture: the run ends
 */
export type WhenDecoding = 'go on' | 'redo' | 'reopen' | 'fatal'

/** What is done when opening the JPEG engines ends with a status: `cores` means that the GPU's cores are used instead. */
export type WhenOpening = 'go on' | 'cores' | 'fatal'

export interface NvjpegStatus {
  status: number
  name: string
  decoding: WhenDecoding
  opening: WhenOpening
}

/** The statuses there are. One that is not here is about a picture: `redo`, and `fatal` when opening. */
export const NVJPEG_STATUSES: readonly NvjpegStatus[] = [
  { status: 0, name: 'SUCCESS', decoding: 'go on', opening: 'go on' },
  { status: 1, name: 'NOT_INITIALIZED', decoding: 'fatal', opening: 'fatal' },
  { status: 2, name: 'INVALID_PARAMETER', decoding: 'redo', opening: 'fatal' },
  { status: 3, name: 'BAD_JPEG', decoding: 'redo', opening: 'fatal' },
  { status: 4, name: 'JPEG_NOT_SUPPORTED', decoding: 'redo', opening: 'fatal' },
  { status: 5, name: 'ALLOCATOR_FAILURE', decoding: 'fatal', opening: 'fatal' },
  { status: 6, name: 'EXECUTION_FAILED', decoding: 'reopen', opening: 'fatal' },
  { status: 7, name: 'ARCH_MISMATCH', decoding: 'fatal', opening: 'cores' },
  { status: 8, name: 'INTERNAL_ERROR', decoding: 'reopen', opening: 'fatal' },
  { status: 9, name: 'IMPLEMENTATION_NOT_SUPPORTED', decoding: 'redo', opening: 'cores' },
  { status: 10, name: 'INCOMPLETE_BITSTREAM', decoding: 'redo', opening: 'fatal' },
]

/** What is known of a status. */
export function nvjpegStatus(status: number): NvjpegStatus {
  const known = NVJPEG_STATUSES.find(other => other.status === status)
  return known ?? { status, name: '', decoding: 'redo', opening: 'fatal' }
}

/** Its name in the manual: nvJPEG has no function that tells it. */
export function nvjpegName(status: number): string {
  const { name } = nvjpegStatus(status)
  return name === '' ? `nvJPEG status ${status}` : `NVJPEG_STATUS_${name}`
}
