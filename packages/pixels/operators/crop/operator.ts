/** Which part of a picture is taken: the middle, any, or one of random area and shape. */
import { MillraceError } from '../../../core/basics/errors.js'
import type { Random } from '../../../core/basics/random.js'
import { boolean, interval, withDefault } from '../../../core/basics/shape.js'
import { operator, roundEven } from '../operator.js'
import type { PadStep } from '../pad/step.js'
import { filling, padding, positive, resampling, square } from '../parameters.js'
import { resizeTo } from '../resize/operator.js'
import type { Size } from '../step.js'
import { type CropStep, cropSteps } from './step.js'

const TRIES = 10 // as many as torchvision makes before it falls back to the centre

export const centerCrop = operator({
  says: 'the middle; smaller images are padded with black',
  example: { centerCrop: [20, 30] },
  stage: 'pixels',
  moves: true,
  main: 'size',
  keys: { size: square },
  torchvision: { CenterCrop: undefined },
  steps: [cropSteps],
  output: (_, { size }) => size,
  /** Where the picture is too small the crop reaches outside. */
  choose: ({ size: [height, width] }, size) =>
    cropTo(centred(width, size.width), centred(height, size.height), { width, height }, size),
})

export const randomCrop = operator({
  says: 'a piece at a random place',
  example: { randomCrop: { size: [20, 30], padIfNeeded: true } },
  stage: 'pixels',
  moves: true,
  main: 'size',
  keys: {
    size: square,
    padding: withDefault(padding, [0, 0, 0, 0]),
    padIfNeeded: withDefault(boolean, false),
    ...filling,
  },
  torchvision: { RandomCrop: undefined },
  most: 2,
  output: (_, { size }) => size,
  /** Any part of the size, of the picture with its padding. */
  choose(params, size, random): (CropStep | PadStep)[] {
    const to = { height: params.size[0], width: params.size[1] }
    let [left, top, right, bottom] = params.padding
    if (params.padIfNeeded) {
      // As much on both sides as is missing, so that the picture may end up on any side of the crop.
      const lackX = Math.max(0, to.width - size.width - left - right)
      const lackY = Math.max(0, to.height - size.height - top - bottom)
      ;[left, top, right, bottom] = [left + lackX, top + lackY, right + lackX, bottom + lackY]
    }
    const padded = { width: size.width + left + right, height: size.height + top + bottom }
    if (padded.width < to.width || padded.height < to.height)
      throw new MillraceError(
        `randomCrop of ${to.width}×${to.height} does not fit into ${padded.width}×${padded.height} pixels: ` +
          'set "padIfNeeded": true, or resize first',
      )
    const y = padded.height > to.height ? random.int(padded.height - to.height + 1) : 0
    const x = padded.width > to.width ? random.int(padded.width - to.width + 1) : 0

    // Black padding needs no step of its own: a crop that reaches outside has zeros there.
    const { mode, fill } = params
    if (mode === 'constant' && fill.every(value => value === 0)) return cropTo(x - left, y - top, to, size)
    if (left + top + right + bottom === 0) return cropTo(x, y, to, size)
    return [{ do: 'pad', left, top, right, bottom, mode, fill }, ...cropTo(x, y, to, padded)]
  },
})

export const randomResizedCrop = operator({
  says: 'a piece of random area and shape, resized',
  example: { randomResizedCrop: { size: [20, 30], scale: [0.3, 1] } },
  defaults: { ratio: ' [3/4, 4/3]' },
  stage: 'pixels',
  moves: true,
  main: 'size',
  keys: {
    size: square,
    scale: withDefault(interval(positive, 'areas [low, high]'), [0.08, 1]),
    ratio: withDefault(interval(positive, 'width by height, [low, high]'), [3 / 4, 4 / 3]),
    ...resampling,
  },
  torchvision: { RandomResizedCrop: undefined },
  most: 2,
  output: (_, { size }) => size,
  choose(params, size, random) {
    const box = randomPart(size, params.scale, params.ratio, random)
    const to = { height: params.size[0], width: params.size[1] }
    return [...cropTo(box.x, box.y, box, size), ...resizeTo(to, box, params)]
  },
})

/** A crop is no step when it takes everything. */
function cropTo(x: number, y: number, to: Size, from: Size): CropStep[] {
  if (x === 0 && y === 0 && to.width === from.width && to.height === from.height) return []
  return [{ do: 'crop', x, y, width: to.width, height: to.height }]
}

/** torchvision rounds to even when it crops, and puts the smaller half first when it pads. */
function centred(wanted: number, there: number): number {
  return wanted > there ? -Math.floor((wanted - there) / 2) : roundEven((there - wanted) / 2)
}

type Range = readonly [low: number, high: number]

/** A box whose area is a uniform share of the picture's and whose log aspect (w/h) is uniform. */
function randomPart(size: Size, scale: Range, ratio: Range, random: Random) {
  const area = size.width * size.height
  for (let i = 0; i < TRIES; i++) {
    const wanted = area * random.uniform(scale[0], scale[1])
    const aspect = Math.exp(random.uniform(Math.log(ratio[0]), Math.log(ratio[1])))
    const width = roundEven(Math.sqrt(wanted * aspect))
    const height = roundEven(Math.sqrt(wanted / aspect))
    if (width > 0 && width <= size.width && height > 0 && height <= size.height) {
      const y = random.int(size.height - height + 1)
      const x = random.int(size.width - width + 1)
      return { x, y, width, height }
    }
  }
  // The largest central part with an aspect in range, but never none of it.
  let { width, height } = size
  if (width / height < ratio[0]) height = Math.max(1, roundEven(width / ratio[0]))
  else if (width / height > ratio[1]) width = Math.max(1, roundEven(height * ratio[1]))
  const x = Math.floor((size.width - width) / 2)
  const y = Math.floor((size.height - height) / 2)
  return { x, y, width, height }
}
