/** Pixels as they lie in a workspace, and boxes in them. */

/** An image in a maker's workspace: rows top to bottom, channels interleaved, one byte each, no padding between rows. */
export interface Picture {
  /** Byte offset of the first pixel in the workspace's memory. */
  at: number
  width: number
  height: number
  channels: 1 | 3
}

/** A rectangle of whole pixels: left, top, width, height. */
export interface Box {
  x: number
  y: number
  width: number
  height: number
}
