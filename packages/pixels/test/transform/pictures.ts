/** Pictures for tests: put into a workspace, with gaps between rows, and taken out again. */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'

type Shape = Pick<Picture, 'width' | 'height' | 'channels'>

/** Copies pixels without gaps into the workspace, with `gap` bytes of 0xee after every row. */
export function put(work: Workspace, shape: Shape, pixels: Uint8Array, gap = 0): Picture {
  const { width, height, channels } = shape
  const rowBytes = width * channels
  const stride = rowBytes + gap
  const at = work.take(stride * height)
  work.u8.fill(0xee, at, at + stride * height)
  for (let y = 0; y < height; y++)
    work.u8.set(pixels.subarray(y * rowBytes, (y + 1) * rowBytes), at + y * stride)
  return { at, width, height, channels, stride }
}

/** The pixels without gaps. */
export function bytesOf({ at, width, height, channels, stride }: Picture, work: Workspace): Uint8Array {
  const rowBytes = width * channels
  const pixels = new Uint8Array(rowBytes * height)
  for (let y = 0; y < height; y++) {
    const row = at + y * stride
    pixels.set(work.u8.subarray(row, row + rowBytes), y * rowBytes)
  }
  return pixels
}
