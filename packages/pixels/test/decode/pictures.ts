/** Helpers for decoding tests: pixels of a picture, and pictures with detail everywhere. */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'

/** The packed pixels of a picture, copied out of the workspace. */
export function pixels(picture: Picture, work: Workspace): Uint8Array {
  const row = picture.width * picture.channels
  const out = new Uint8Array(row * picture.height)
  for (let y = 0; y < picture.height; y++) {
    const from = picture.at + y * picture.stride
    out.set(work.u8.subarray(from, from + row), y * row)
  }
  return out
}

/** The packed pixels of a window of packed pixels. */
export function crop(
  all: Uint8Array,
  width: number,
  channels: number,
  box: { x: number; y: number; width: number; height: number },
): Uint8Array {
  const out = new Uint8Array(box.width * box.height * channels)
  for (let y = 0; y < box.height; y++) {
    const from = ((box.y + y) * width + box.x) * channels
    out.set(all.subarray(from, from + box.width * channels), y * box.width * channels)
  }
  return out
}

/** Noise with strong colours, so that every neighbour that leaks into a pixel shows. */
export function noise(width: number, height: number, seed: number): Uint8Array {
  const out = new Uint8Array(width * height * 3)
  let state = (seed * 2654435761 + 1) >>> 0
  for (let i = 0; i < out.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    out[i] = state >>> 24
  }
  return out
}
