/** Sharpness and blur, plainly. Both give the result's pixels, without gaps. */
import type { Picture } from '../../../decode/picture/picture.js'
import { fold } from '../../../operators/gaussianBlur/blur.js'

const f32 = Math.fround

/** `rest` is 1 - factor. */
export function sharpness(picture: Picture, u8: Uint8Array, rest: number): Uint8Array {
  const { at, width, height, channels, stride } = picture
  const out = new Uint8Array(width * height * channels)
  for (let y = 0; y < height; y++)
    for (let i = 0; i < width * channels; i++) {
      const p = at + y * stride + i
      const x = Math.floor(i / channels)
      let value = u8[p]
      if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        let sum = 4 * value
        for (const dy of [-stride, 0, stride])
          for (const dx of [-channels, 0, channels]) sum += u8[p + dy + dx]
        const blurred = Math.round(sum / 13) // never halfway: 13 is odd
        value = Math.trunc(Math.min(Math.max(f32(value + f32((blurred - value) * f32(rest))), 0), 255))
      }
      out[y * width * channels + i] = value
    }
  return out
}

/** `weightsX` and `weightsY` are halves of symmetric kernels, the middle first. Columns are filtered first. */
export function blur(
  { at, width, height, channels, stride }: Picture,
  u8: Uint8Array,
  weightsX: Float32Array,
  weightsY: Float32Array,
): Uint8Array {
  const out = new Uint8Array(width * height * channels)
  for (let y = 0; y < height; y++) {
    const line = new Float32Array(width * channels)
    for (let i = 0; i < line.length; i++) {
      const value = (dy: number) => u8[at + fold(y + dy, height) * stride + i]
      let sum = f32(value(0) * weightsY[0])
      for (let k = 1; k < weightsY.length; k++) sum = f32(sum + f32((value(-k) + value(k)) * weightsY[k]))
      line[i] = sum
    }
    for (let x = 0; x < width; x++)
      for (let c = 0; c < channels; c++) {
        const value = (dx: number) => line[fold(x + dx, width) * channels + c]
        let sum = f32(value(0) * weightsX[0])
        for (let k = 1; k < weightsX.length; k++)
          sum = f32(sum + f32(f32(value(-k) + value(k)) * weightsX[k]))
        out[(y * width + x) * channels + c] = roundEven(sum)
      }
  }
  return out
}

export function roundEven(x: number): number {
  const floor = Math.floor(x)
  const rest = x - floor
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1
}
