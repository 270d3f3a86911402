/** Arrays on the device, as a batch has them in place of typed arrays. */
import { DTYPES, type Dtype, elements, type TypedArray } from '../../core/basics/dtype.js'
import type { DeviceArray } from '../../core/deliver/node/device.js'

/** Reads bytes of the device; refuses when the batch that they belong to is gone. */
export type Download = (pointer: bigint, bytes: number) => Promise<Uint8Array<ArrayBuffer>>

export class CudaArray implements DeviceArray {
  constructor(
    readonly devicePointer: bigint,
    readonly dtype: Dtype,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
    private readonly download: Download,
  ) {}

  get byteLength(): number {
    return elements(this.shape) * DTYPES[this.dtype].bytes
  }

  async copyToHost(): Promise<TypedArray> {
    const { buffer } = await this.download(this.devicePointer, this.byteLength)
    return new DTYPES[this.dtype].array(buffer)
  }
}

/** Strides of an array without gaps, in elements. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides: number[] = []
  let next = 1
  for (const size of [...shape].reverse()) {
    strides.unshift(next)
    next *= size
  }
  return strides
}

/** The shape [n, h, w, c] of memory seen as [n, c, h, w], which PyTorch calls channels_last. */
export function channelsFirst(shape: readonly number[]): { shape: number[]; strides: number[] } {
  const [n, h, w, c] = shape
  const [sn, sh, sw, sc] = stridesOf(shape)
  return { shape: [n, c, h, w], strides: [sn, sc, sh, sw] }
}
