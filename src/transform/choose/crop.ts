/** Which part of a picture is taken, and in which size: resize, the crops and padding. */
import type { Random } from '../../define/random.js'
import { MillraceError } from '../../errors.js'
import type { GeometryStep } from '../steps.js'
import type { Chooser, Size } from './chooser.js'
import { fill, filter, missing, number, numbers, padMode, pair, roundEven, sides, square } from './params.js'

const TRIES = 10 // as many as torchvision makes before it falls back to the centre

/** To [h, w], or the shorter side to a number, the longer one then at most `maxSize`. */
export const resize: Chooser = (params, size) => {
  const wanted = numbers(params, 'size')
  const to =
    wanted.length === 2
      ? { height: wanted[0], width: wanted[1] }
      : shorterSide(size, wanted[0], missing(params, 'maxSize') ? Infinity : number(params, 'maxSize'))
  return resizeTo(to, size, params)
}

function shorterSide(size: Size, wanted: number, most: number): Size {
  const [short, long] = [Math.min(size.width, size.height), Math.max(size.width, size.height)]
  let newShort = wanted
  let newLong = Math.trunc((wanted * long) / short)
  if (newLong > most) [newShort, newLong] = [Math.trunc((most * newShort) / newLong), most]
  newShort = Math.max(1, newShort)
  return size.width <= size.height
    ? { width: newShort, height: newLong }
    : { width: newLong, height: newShort }
}

function resizeTo(to: Size, from: Size, params: Record<string, unknown>): GeometryStep[] {
  if (to.width === from.width && to.height === from.height) return []
  return [{ do: 'resize', ...to, filter: filter(params), antialias: params.antialias !== false }]
}

/** A crop is no step when it takes everything. */
function cropTo(x: number, y: number, to: Size, from: Size): GeometryStep[] {
  if (x === 0 && y === 0 && to.width === from.width && to.height === from.height) return []
  return [{ do: 'crop', x, y, width: to.width, height: to.height }]
}

/** The middle. Where the picture is too small the crop reaches outside, half of it (rounded down) before. */
export const centerCrop: Chooser = (params, size) => {
  const to = square(params, 'size')
  return cropTo(centred(to.width, size.width), centred(to.height, size.height), to, size)
}

function centred(wanted: number, there: number): number {
  return wanted > there ? -Math.floor((wanted - there) / 2) : roundEven((there - wanted) / 2)
}

/** Any part of the size, of the picture with its padding. */
export const randomCrop: Chooser = (params, size, random) => {
  const to = square(params, 'size')
  let [left, top, right, bottom] = sides(params, 'padding')
  if (params.padIfNeeded === true) {
    // As much on both sides as is missing, so that the picture may end up on any side of the crop.
    const [lackX, lackY] = [to.width - size.width - left - right, to.height - size.height - top - bottom]
    if (lackX > 0) [left, right] = [left + lackX, right + lackX]
    if (lackY > 0) [top, bottom] = [top + lackY, bottom + lackY]
  }
  const padded = { width: size.width + left + right, height: size.height + top + bottom }
  if (padded.width < to.width || padded.height < to.height)
    throw new MillraceError(
      `randomCrop of ${to.width}×${to.height} does not fit into ${padded.width}×${padded.height} pixels: ` +
        'set "padIfNeeded": true, or resize first',
    )
  const y = padded.height > to.height ? random.int(padded.height - to.height + 1) : 0
  const x = padded.width > to.width ? random.int(padded.width - to.width + 1) : 0

  // Black padding needs no step of its own: a crop that reaches outside is filled with zeros.
  const colour = fill(params)
  const mode = padMode(params)
  if (mode === 'constant' && colour.every(value => value === 0)) return cropTo(x - left, y - top, to, size)
  if (left + top + right + bottom === 0) return cropTo(x, y, to, size)
  return [{ do: 'pad', left, top, right, bottom, mode, fill: colour }, ...cropTo(x, y, to, padded)]
}

/** A part of random area and aspect, resized. */
export const randomResizedCrop: Chooser = (params, size, random) => {
  const box = randomArea(size, pair(params, 'scale'), pair(params, 'ratio'), random)
  return [...cropTo(box.x, box.y, box, size), ...resizeTo(square(params, 'size'), box, params)]
}

/** A box whose area is a uniform share of the picture's and whose log aspect (w/h) is uniform. */
function randomArea(size: Size, scale: [number, number], ratio: [number, number], random: Random) {
  const area = size.width * size.height
  const [low, high] = [Math.log(ratio[0]), Math.log(ratio[1])]
  for (let i = 0; i < TRIES; i++) {
    const wanted = area * random.uniform(scale[0], scale[1])
    const aspect = Math.exp(random.uniform(low, high))
    const width = roundEven(Math.sqrt(wanted * aspect))
    const height = roundEven(Math.sqrt(wanted / aspect))
    if (width > 0 && width <= size.width && height > 0 && height <= size.height) {
      const y = random.int(size.height - height + 1)
      const x = random.int(size.width - width + 1)
      return { x, y, width, height }
    }
  }
  // The largest central part with an aspect in range.
  const aspect = size.width / size.height
  const { width, height } = { ...size }
  if (aspect < Math.min(...ratio)) return middle(width, roundEven(width / Math.min(...ratio)), size)
  if (aspect > Math.max(...ratio)) return middle(roundEven(height * Math.max(...ratio)), height, size)
  return middle(width, height, size)
}

function middle(width: number, height: number, size: Size) {
  const [x, y] = [Math.floor((size.width - width) / 2), Math.floor((size.height - height) / 2)]
  return { x, y, width, height }
}

export const pad: Chooser = params => {
  const [left, top, right, bottom] = sides(params, 'padding')
  if (left === 0 && top === 0 && right === 0 && bottom === 0) return []
  return [{ do: 'pad', left, top, right, bottom, mode: padMode(params), fill: fill(params) }]
}
