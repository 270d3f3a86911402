/** Copies rectangles of bytes within a memory. */
import { kernel } from '../transform/kernels/load.js'

interface CopyKernel {
  copyRows(
    from: number,
    fromStride: number,
    to: number,
    toStride: number,
    bytes: number,
    height: number,
  ): void
}

/** Where a rectangle starts, and the bytes from one of its rows to the next. */
export interface Rectangle {
  at: number
  stride: number
}

export function copyRows(
  memory: WebAssembly.Memory,
  from: Rectangle,
  to: Rectangle,
  bytes: number,
  height: number,
): void {
  kernel<CopyKernel>('copy', memory).copyRows(from.at, from.stride, to.at, to.stride, bytes, height)
}
