/** Errors of NVIDIA's libraries: the name of the code, the call that gave it, and what to do about it (advice.ts). */
import { MillraceError } from '../../core/basics/errors.js'
import { ADVICE } from './advice.js'

/** A call of the CUDA driver, NVRTC or nvJPEG failed. `code` is its name: CUDA_ERROR_…, NVRTC_ERROR_…, NVJPEG_STATUS_…. */
export class CudaError extends MillraceError {
  override readonly tag = 'Cuda'
  constructor(
    readonly call: string,
    readonly code: string,
    detail = '',
  ) {
    const advice = ADVICE[code]
    super(
      `${call}: ${code}${detail === '' ? '' : ` (${detail})`}${advice === undefined ? '' : `: ${advice}`}`,
    )
  }
}
