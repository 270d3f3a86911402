/** The colour kernels, plainly: pixel by pixel, in float32. Tests compare the kernels with these. */
import type { Picture } from '../../../decode/picture/picture.js'
import { HUE_SCALE, LUMINANCE_BLUE, LUMINANCE_GREEN, LUMINANCE_RED } from '../../../operators/color-facts.js'

const f32 = Math.fround

type Pixel = readonly [red: number, green: number, blue: number]

function eachPixel(picture: Picture, u8: Uint8Array, change: (pixel: Pixel) => Pixel): void {
  for (let y = 0; y < picture.height; y++)
    for (let x = 0; x < picture.width; x++) {
      const at = picture.at + y * picture.stride + x * 3
      u8.set(change([u8[at], u8[at + 1], u8[at + 2]]), at)
    }
}

/** Clamped to a byte, rounded towards zero. */
function toByte(x: number): number {
  return Math.trunc(Math.min(Math.max(x, 0), 255))
}

export function luminance([red, green, blue]: Pixel): number {
  const [r, g, b] = [LUMINANCE_RED, LUMINANCE_GREEN, LUMINANCE_BLUE].map(f32)
  return Math.trunc(f32(f32(f32(red * r) + f32(green * g)) + f32(blue * b)))
}

export function grayscale(picture: Picture, u8: Uint8Array): void {
  eachPixel(picture, u8, pixel => {
    const l = luminance(pixel)
    return [l, l, l]
  })
}

/** `rest` is 1 - factor. */
export function saturation(picture: Picture, u8: Uint8Array, factor: number, rest: number): void {
  eachPixel(picture, u8, pixel => {
    const gray = f32(luminance(pixel) * f32(rest))
    const blend = (value: number) => toByte(f32(f32(value * f32(factor)) + gray))
    return [blend(pixel[0]), blend(pixel[1]), blend(pixel[2])]
  })
}

/** Turns the hue by sixths of the circle, -3…3. */
export function hue(picture: Picture, u8: Uint8Array, sixths: number): void {
  const turn = f32(sixths)
  eachPixel(picture, u8, ([r, g, b]) => {
    const max = Math.max(r, g, b)
    const range = max - Math.min(r, g, b)
    const divisor = Math.max(range, 1)
    const own =
      max === r
        ? f32((g - b) / divisor)
        : max === g
          ? f32(f32((b - r) / divisor) + 2)
          : f32(f32((r - g) / divisor) + 4)
    const h = f32(own + turn)
    const channel = (offset: number) => {
      const turned = f32(h + offset)
      const k = f32(turned - f32(6 * Math.floor(f32(turned * f32(1 / 6)))))
      const share = Math.min(Math.max(Math.min(k, f32(4 - k)), 0), 1)
      return toByte(f32(f32(max - f32(range * share)) * f32(HUE_SCALE)))
    }
    return [channel(5), channel(3), channel(1)]
  })
}

export function permute(picture: Picture, u8: Uint8Array, order: readonly number[]): void {
  eachPixel(picture, u8, pixel => [pixel[order[0]], pixel[order[1]], pixel[order[2]]])
}

export function luminanceSum(picture: Picture, u8: Uint8Array): number {
  let sum = 0
  eachPixel(picture, u8, pixel => {
    sum += luminance(pixel)
    return pixel
  })
  return sum
}

/** Each byte becomes its entry in the table of its channel. */
export function tables(picture: Picture, u8: Uint8Array, ofChannel: readonly Uint8Array[]): void {
  const { at, width, height, channels, stride } = picture
  for (let y = 0; y < height; y++)
    for (let i = 0; i < width * channels; i++) {
      const p = at + y * stride + i
      u8[p] = ofChannel[i % ofChannel.length][u8[p]]
    }
}

export function histogram({ at, width, height, channels, stride }: Picture, u8: Uint8Array): Uint32Array {
  const counts = new Uint32Array(256 * channels)
  for (let y = 0; y < height; y++)
    for (let i = 0; i < width * channels; i++) counts[(i % channels) * 256 + u8[at + y * stride + i]]++
  return counts
}
