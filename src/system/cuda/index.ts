/** What other rooms use of CUDA. Importing it loads no library: only calling does. */
export { addressOf } from '../native.js'
export { type Blocks, CudaDevice, type Gpu, type Lane } from './device.js'
export type { DeviceFacts, LaunchShape } from './driver.js'
export { CudaError } from './errors.js'
export { KERNELS, ourHeaders, readSource as ourSource } from './kernels.js'
export type { Backend } from './nvjpeg.js'
export type { CudaSource } from './nvrtc.js'
export type { JpegPicture, KernelArgument } from './structs.js'
