/** What the `picture` kernel does to a picture's frame, plainly: turned upright, cropped, padded, mirrored. */
import { swapsAxes } from '../../../decode/picture/exif.js'
import { PAD_CODES } from '../../../transform/device/parameter-words.js'
import type { Flips } from '../../../transform/place/place.js'
import type { Pixels } from './place.js'

type Colour = readonly [red: number, green: number, blue: number]
const BLACK: Colour = [0, 0, 0]

/** A picture whose pixel (x, y) is the one that `from` names, or a colour. */
function drawn(
  width: number,
  height: number,
  picture: Pixels,
  from: (x: number, y: number) => readonly [x: number, y: number] | undefined,
  outside: Colour = BLACK,
): Pixels {
  const data = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const place = from(x, y)
      const at = place === undefined ? 0 : (place[1] * picture.width + place[0]) * 3
      data.set(place === undefined ? outside : picture.data.subarray(at, at + 3), (y * width + x) * 3)
    }
  return { data, width, height, channels: 3 }
}

/** Turns a picture upright, by EXIF's `orientation`. */
export function upright(stored: Pixels, orientation: number): Pixels {
  const { width: w, height: h } = stored
  const places = {
    1: (x: number, y: number) => [x, y] as const,
    2: (x: number, y: number) => [w - 1 - x, y] as const,
    3: (x: number, y: number) => [w - 1 - x, h - 1 - y] as const,
    4: (x: number, y: number) => [x, h - 1 - y] as const,
    5: (x: number, y: number) => [y, x] as const,
    6: (x: number, y: number) => [y, h - 1 - x] as const,
    7: (x: number, y: number) => [w - 1 - y, h - 1 - x] as const,
    8: (x: number, y: number) => [w - 1 - y, x] as const,
  }
  const known = orientation as keyof typeof places
  return swapsAxes(known) ? drawn(h, w, stored, places[known]) : drawn(w, h, stored, places[known])
}

/** Zeros where the box reaches outside. */
export function crop(picture: Pixels, left: number, top: number, width: number, height: number): Pixels {
  return drawn(width, height, picture, (x, y) => {
    const inside = left + x >= 0 && left + x < picture.width && top + y >= 0 && top + y < picture.height
    return inside ? [left + x, top + y] : undefined
  })
}

export function mirrored(picture: Pixels, { horizontal, vertical }: Flips): Pixels {
  const { width, height } = picture
  return drawn(width, height, picture, (x, y) => [
    horizontal ? width - 1 - x : x,
    vertical ? height - 1 - y : y,
  ])
}

/** Steps from the edge inwards until the index lies inside: back to the edge's pixel, or past it. */
function source(i: number, n: number, mode: number): number {
  if (mode === PAD_CODES.edge || n === 1) return Math.min(Math.max(i, 0), n - 1)
  const edge = mode === PAD_CODES.reflect ? 0 : 1
  while (i < 0 || i >= n) i = i < 0 ? -i - edge : 2 * (n - 1) - i + edge
  return i
}

export interface Padding {
  left: number
  top: number
  right: number
  bottom: number
  mode: number
  fill: Colour
}

export function pad(picture: Pixels, { left, top, right, bottom, mode, fill }: Padding): Pixels {
  const { width, height } = picture
  const from = (x: number, y: number): readonly [number, number] | undefined => {
    const inside = x >= left && x < left + width && y >= top && y < top + height
    if (mode === PAD_CODES.constant && !inside) return undefined
    return inside ? [x - left, y - top] : [source(x - left, width, mode), source(y - top, height, mode)]
  }
  return drawn(left + width + right, top + height + bottom, picture, from, fill)
}
