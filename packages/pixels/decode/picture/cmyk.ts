/**
 * CMYK to RGB, as PIL and torchvision do it: each colour is what ink and black leave of the light. No ICC profile is
 * applied. The numbers of a four-component JPEG are taken as Adobe writes them, inverted (255 is no ink).
 */
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from './picture.js'

/** A packed RGB picture from CMYK pixels at `at`, rows `pitch` bytes apart. */
export function cmykToRgb(
  at: number,
  pitch: number,
  width: number,
  height: number,
  work: Workspace,
  inverted = true,
): Picture {
  const flip = inverted ? 255 : 0
  const out = work.take(width * height * 3)
  const { u8 } = work
  let to = out
  for (let y = 0; y < height; y++) {
    const start = at + y * pitch
    for (let from = start; from < start + width * 4; from += 4) {
      const light = u8[from + 3] ^ flip ^ 255
      for (let c = 0; c < 3; c++) {
        const product = (u8[from + c] ^ flip) * light + 128
        u8[to++] = light - (((product >> 8) + product) >> 8) // light × (1 − ink), rounded
      }
    }
  }
  return { at: out, width, height, channels: 3, stride: width * 3 }
}
