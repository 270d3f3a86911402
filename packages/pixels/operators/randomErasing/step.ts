/** Erases a rectangle of a finished row, in the slot: in the row's own element type, layout and units. */
import type { Dtype } from '../../../core/basics/dtype.js'
import { Random } from '../../../core/basics/random.js'
import { arrayOf, encoder } from '../../transform/plain/encode.js'
import { step } from '../step.js'

/** Keys of a line: one for each channel, and some to spare. */
const LANES = 4

export interface EraseStep {
  do: 'erase'
  x: number
  y: number
  width: number
  height: number
  value: readonly number[] | 'random'
  seed: number
}

/** Done when the row is finished: no picture is left by then. */
export const eraseSteps = step<EraseStep>({
  do: 'erase',
  code: 17,
  args({ x, y, width, height, value, seed }) {
    const colour = value === 'random' ? [0] : value
    const channel = (c: number): { f64: number } => ({ f64: colour[c] ?? colour[0] })
    const random = value === 'random' ? 1 : 0
    return [x, y, width, height, random, seed, channel(0), channel(1), channel(2)]
  },
})

/**
 * The row is `channels` × `height` × `width` elements at byte `at` of the memory. `random` noise is standard
 * normal and keyed by the step's seed, for each line of each plane by itself: the layout does not change it, and the
 * threads of a GPU can share it out.
 */
export function applyErase(
  step: EraseStep,
  at: number,
  layout: 'chw' | 'hwc',
  dtype: Dtype,
  width: number,
  height: number,
  memory: { readonly buffer: ArrayBufferLike },
  channels = 3,
): void {
  const row = arrayOf(dtype, memory.buffer, at, channels * width * height)
  const encode = encoder(dtype)
  const random = new Random()
  const [planeStep, pixelStep] = layout === 'chw' ? [width * height, 1] : [1, channels]
  for (let c = 0; c < channels; c++) {
    const value = step.value === 'random' ? 0 : encode(step.value[c] ?? step.value[0])
    for (let y = 0; y < step.height; y++) {
      const noise = step.value === 'random' ? normals(random.key(step.seed, 0, y * LANES + c, 0)) : undefined
      let i = c * planeStep + ((step.y + y) * width + step.x) * pixelStep
      for (let x = 0; x < step.width; x++, i += pixelStep)
        row[i] = noise === undefined ? value : encode(noise())
    }
  }
}

/** Standard normal numbers, two by two: both that Box and Muller's method gives, since there may be many thousands. */
function normals(random: Random): () => number {
  let other: number | undefined
  return () => {
    if (other !== undefined) {
      const value = other
      other = undefined
      return value
    }
    const radius = Math.sqrt(-2 * Math.log(1 - random.next()))
    const angle = 2 * Math.PI * random.next()
    other = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }
}
