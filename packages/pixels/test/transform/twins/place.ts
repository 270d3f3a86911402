/** The plain twin of the `place` kernel: the same result, step by step, with nothing clever. */
import type { Box, Picture } from '../../../decode/picture/picture.js'
import type { Flips, Sizing, Target } from '../../../transform/place/place.js'
import { isWeighted, nearestIndex, type Weights, weigh } from '../../../transform/place/weights.js'

/** A picture by itself, rows without gaps. */
export interface Pixels {
  data: Uint8Array
  width: number
  height: number
  channels: 1 | 3
}

export function placePicture(
  memory: Uint8Array,
  source: Picture,
  box: Box,
  size: Sizing,
  flips: Flips,
  target: Target,
): void {
  const whole = resize(crop(memory, source, box), size)
  const resized =
    size.window === undefined
      ? whole
      : crop(whole.data, { ...whole, at: 0, stride: whole.width * whole.channels }, size.window)
  const { width, height, channels } = resized
  const { entry, lookup } = target.values
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const fromX = flips.horizontal ? width - 1 - x : x
      const fromY = flips.vertical ? height - 1 - y : y
      for (let c = 0; c < channels; c++) {
        const value = c * 256 + resized.data[(fromY * width + fromX) * channels + c]
        const element =
          target.layout === 'chw'
            ? (c * target.height + y) * target.width + x
            : (y * target.width + x) * channels + c
        memory.set(lookup.subarray(value * entry, (value + 1) * entry), target.at + element * entry)
      }
    }
  }
}

export function crop(memory: Uint8Array, source: Picture, box: Box): Pixels {
  const { channels, stride } = source
  const row = box.width * channels
  const data = new Uint8Array(row * box.height)
  for (let y = 0; y < box.height; y++) {
    const from = source.at + (box.y + y) * stride + box.x * channels
    data.set(memory.subarray(from, from + row), y * row)
  }
  return { data, width: box.width, height: box.height, channels }
}

/** Along x, then along y, with bytes in between, as torch and Pillow do it. */
export function resize(pixels: Pixels, size: Sizing): Pixels {
  return alongY(alongX(pixels, size), size)
}

function alongX(from: Pixels, { width, filter, antialias }: Sizing): Pixels {
  if (width === from.width) return from
  const { height, channels } = from
  const data = new Uint8Array(width * height * channels)
  const sample = sampler(from.width, width, filter, antialias)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < channels; c++) {
        const line = y * from.width * channels + c
        data[(y * width + x) * channels + c] = sample(x, i => from.data[line + i * channels])
      }
    }
  }
  return { data, width, height, channels }
}

function alongY(from: Pixels, { height, filter, antialias }: Sizing): Pixels {
  if (height === from.height) return from
  const { width, channels } = from
  const row = width * channels
  const data = new Uint8Array(row * height)
  const sample = sampler(from.height, height, filter, antialias)
  for (let y = 0; y < height; y++) {
    for (let i = 0; i < row; i++) data[y * row + i] = sample(y, line => from.data[line * row + i])
  }
  return { data, width, height, channels }
}

/** A function that makes output `i` of one line from the line's inputs. */
function sampler(
  input: number,
  output: number,
  filter: Sizing['filter'],
  antialias: boolean,
): (i: number, at: (index: number) => number) => number {
  if (!isWeighted(filter)) {
    const index = nearestIndex(input, output)
    return (i, at) => at(index[i])
  }
  const weights = weigh(input, output, filter, antialias)
  return (i, at) => weighed(weights, i, at)
}

function weighed(w: Weights, i: number, at: (index: number) => number): number {
  let sum = 2 ** (w.shift - 1)
  for (let k = 0; k < w.count[i]; k++) sum += w.weights[i * w.taps + k] * at(w.first[i] + k)
  return Math.max(0, Math.min(255, sum >> w.shift))
}
