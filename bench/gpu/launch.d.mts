export const KERNELS: { picture: 0; mix: 1; synthetic: 2; philox: 3; draw: 4 }
export const DTYPE_CODES: Record<string, number>
export function number(value: number | bigint): Buffer
export function input(bytes: ArrayBufferView): Buffer
export function output(size: number): Buffer
export function room(size: number): Buffer
export function list(items: readonly (Uint8Array | undefined)[]): Buffer
export function launch(
  kernel: keyof typeof KERNELS,
  blocks: number,
  threads: number,
  args: readonly Buffer[],
): Buffer
export function pictureArguments(
  rows: readonly Uint32Array[],
  pictures: readonly (Uint8Array | undefined)[],
  form: {
    dtype: string
    layout: 'chw' | 'hwc'
    width: number
    height: number
    lookup: Uint8Array
    /** Bytes of an element. */
    bytes: number
  },
): Buffer[]
