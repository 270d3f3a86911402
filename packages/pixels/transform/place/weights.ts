/**
 * Weights of a resize along one axis, in the fixed point that torchvision uses for uint8 images on CPUs (16-bit
 * weights, as many fractional bits as the greatest of them allows), so that results are equal bit for bit.
 */
import type { Filter } from '../../operators/step.js'

/** Output i is Σ weights[i·taps + k] · input[first[i] + k] over k < count[i], plus a half, shifted right. */
export interface Weights {
  first: Int32Array
  count: Int32Array
  /** Most taps that any output has. */
  taps: number
  weights: Int16Array
  /** Fractional bits of the weights. */
  shift: number
}

/** Size of a filter in input pixels when it does not shrink. */
const REACH = { bilinear: 1, bicubic: 2 } as const

/** Fractional bits of weights at most: a sum of 8-bit pixels with so many still fits 32 bits, overshoot included. */
export const MOST_BITS = 22

/** Input index of every output index for nearest neighbour: floor(i · scale) in float32, as torch does. */
export function nearestIndex(input: number, output: number): Int32Array {
  const scale = Math.fround(input / output)
  return Int32Array.from({ length: output }, (_, i) =>
    output === 2 * input ? i >> 1 : Math.min(input - 1, Math.floor(Math.fround(i * scale))),
  )
}

/** The weights of outputs `from` to `from + count − 1` alone. */
export function weightsOf(w: Weights, from: number, count: number): Weights {
  if (from === 0 && count === w.first.length) return w
  return {
    ...w,
    first: w.first.subarray(from, from + count),
    count: w.count.subarray(from, from + count),
    weights: w.weights.subarray(from * w.taps, (from + count) * w.taps),
  }
}

/** Most inputs that an output can be made of. */
export function mostTaps(
  input: number,
  output: number,
  filter: 'bilinear' | 'bicubic',
  antialias: boolean,
): number {
  const stretch = antialias ? Math.max(1, input / output) : 1
  return Math.min(input, Math.ceil(REACH[filter] * stretch) * 2 + 1)
}

/** The weights that make `output` pixels of `input` pixels. */
export function weigh(
  input: number,
  output: number,
  filter: 'bilinear' | 'bicubic',
  antialias: boolean,
): Weights {
  const scale = input / output
  const stretch = antialias && scale > 1 ? scale : 1
  const support = REACH[filter] * stretch
  const taps = mostTaps(input, output, filter, antialias)
  const first = new Int32Array(output)
  const count = new Int32Array(output)
  const exact = new Float64Array(output * taps)
  const curve = filter === 'bilinear' ? triangle : cubic(antialias ? -0.5 : -0.75)
  let greatest = 0
  let most = 1
  for (let i = 0; i < output; i++) {
    const centre = scale * (i + 0.5)
    const from = antialias
      ? Math.max(0, Math.floor(centre - support + 0.5))
      : Math.floor(centre - support + 0.5)
    const to = antialias ? Math.min(input, Math.floor(centre + support + 0.5)) : from + 2 * support
    const low = Math.min(input - 1, Math.max(0, from))
    const high = Math.min(input - 1, to - 1)
    let total = 0
    for (let j = from; j < to; j++) {
      const weight = curve((j - centre + 0.5) / stretch)
      // Without antialiasing, taps beyond the edge repeat the edge pixel.
      exact[i * taps + Math.min(high, Math.max(low, j)) - low] += weight
      total += weight
    }
    first[i] = low
    count[i] = high - low + 1
    most = Math.max(most, count[i])
    for (let k = 0; k < count[i]; k++) {
      exact[i * taps + k] /= total
      greatest = Math.max(greatest, exact[i * taps + k])
    }
  }
  const shift = bitsFor(greatest)
  return { first, count, taps: most, weights: inFixedPoint(exact, taps, count, most, shift), shift }
}

/** As many fractional bits as the greatest weight allows in 16 bits. */
function bitsFor(greatest: number): number {
  let shift = 0
  while (shift < MOST_BITS && Math.floor(0.5 + greatest * 2 ** (shift + 1)) < 32768) shift++
  return shift
}

/** Weights rounded to fixed point. `taps` lie beside each other in `exact`, `most` in the result. */
function inFixedPoint(
  exact: Float64Array,
  taps: number,
  count: Int32Array,
  most: number,
  shift: number,
): Int16Array {
  const one = 2 ** shift
  const weights = new Int16Array(count.length * most)
  for (let i = 0; i < count.length; i++) {
    for (let k = 0; k < count[i]; k++) {
      const scaled = exact[i * taps + k] * one
      weights[i * most + k] = Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5)
    }
  }
  return weights
}

function triangle(x: number): number {
  return Math.max(0, 1 - Math.abs(x))
}

/** Keys' cubic with parameter a. */
function cubic(a: number): (x: number) => number {
  return x => {
    x = Math.abs(x)
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a
    return 0
  }
}

/** Anything but nearest is made of weights. */
export function isWeighted(filter: Filter): filter is 'bilinear' | 'bicubic' {
  return filter !== 'nearest'
}
