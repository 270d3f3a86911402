/** Which part of a picture is taken, and in which size: resize, the crops and padding. */

import { MillraceError } from '../../../core/basics/errors.js'
import type { Random } from '../../../core/basics/random.js'
import { resizedTo } from '../../../core/define/operators/geometry.js'
import type { GeometryStep } from '../steps.js'
import { type Chooser, resizeTo, roundEven, type Size } from './chooser.js'

const TRIES = 10 // as many as torchvision makes before it falls back to the centre

/** To [height, width], or the shorter side to a number, the longer one then at most `maxSize`. */
export const resize: Chooser<'resize'> = (params, size) => {
  const [height, width] =
    typeof params.size === 'number'
      ? resizedTo([size.height, size.width], params.size, params.maxSize)
      : params.size
  return resizeTo({ width: Math.max(1, width), height: Math.max(1, height) }, size, params)
}

/** A crop is no step when it takes everything. */
function cropTo(x: number, y: number, to: Size, from: Size): GeometryStep[] {
  if (x === 0 && y === 0 && to.width === from.width && to.height === from.height) return []
  return [{ do: 'crop', x, y, width: to.width, height: to.height }]
}

/** The middle. Where the picture is too small the crop reaches outside. */
export const centerCrop: Chooser<'centerCrop'> = ({ size: [height, width] }, size) =>
  cropTo(centred(width, size.width), centred(height, size.height), { width, height }, size)

/** torchvision rounds to even when it crops, and puts the smaller half first when it pads. */
function centred(wanted: number, there: number): number {
  return wanted > there ? -Math.floor((wanted - there) / 2) : roundEven((there - wanted) / 2)
}

/** Any part of the size, of the picture with its padding. */
export const randomCrop: Chooser<'randomCrop'> = (params, size, random) => {
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
}

/** A part of random area and aspect, resized. */
export const randomResizedCrop: Chooser<'randomResizedCrop'> = (params, size, random) => {
  const box = randomPart(size, params.scale, params.ratio, random)
  const to = { height: params.size[0], width: params.size[1] }
  return [...cropTo(box.x, box.y, box, size), ...resizeTo(to, box, params)]
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

export const pad: Chooser<'pad'> = ({ padding: [left, top, right, bottom], mode, fill }) =>
  left + top + right + bottom === 0 ? [] : [{ do: 'pad', left, top, right, bottom, mode, fill }]
