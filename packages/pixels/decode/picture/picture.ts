/** Pixels as they lie in a workspace, and boxes in them. */

/** An image in a maker's workspace: rows top to bottom, channels interleaved, one byte each. */
export interface Picture {
  /** Byte offset of the first pixel in the workspace's memory. */
  at: number
  width: number
  height: number
  channels: 1 | 3
  /**
   * Bytes from the start of one row to the start of the next, at least width × channels. It is more when the
   * picture is a window into a larger one, such as a JPEG region decoded with its margin.
   */
  stride: number
}

/** A rectangle of whole pixels: left, top, width, height. */
export interface Box {
  x: number
  y: number
  width: number
  height: number
}
