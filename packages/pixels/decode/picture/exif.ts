/** EXIF orientation: reading it, mapping boxes through it, and turning pixels upright. */
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Box, Picture } from './picture.js'

/** As in the EXIF tag: 1 upright, 2 mirrored, 3 half turn, 4 flipped, 5…8 with width and height exchanged. */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8

/** Whether an orientation exchanges width and height. */
export function swapsAxes(orientation: Orientation): boolean {
  return orientation >= 5
}

const ORIENTATION_TAG = 0x0112
const SHORT = 3

/**
 * The orientation in a TIFF structure (the body of an EXIF block) at bytes[start…end): 1 when there is none, or
 * when the block is damaged, as a picture is no worse for a bad tag.
 */
export function orientationIn(bytes: Uint8Array, start: number, end: number): Orientation {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start)
  if (view.byteLength < 8) return 1
  const mark = view.getUint16(0)
  if (mark !== 0x4949 && mark !== 0x4d4d) return 1 // II or MM
  const little = mark === 0x4949
  if (view.getUint16(2, little) !== 42) return 1
  const directory = view.getUint32(4, little)
  if (directory + 2 > view.byteLength) return 1
  const entries = view.getUint16(directory, little)
  for (let i = 0; i < entries; i++) {
    const entry = directory + 2 + i * 12
    if (entry + 12 > view.byteLength) return 1
    if (view.getUint16(entry, little) !== ORIENTATION_TAG) continue
    if (view.getUint16(entry + 2, little) !== SHORT) return 1
    const value = view.getUint16(entry + 8, little)
    return value >= 1 && value <= 8 ? (value as Orientation) : 1
  }
  return 1
}

/**
 * Where the box of an upright picture lies in the stored one. `width` and `height` are those of the upright
 * picture.
 */
export function storedBox(box: Box, orientation: Orientation, width: number, height: number): Box {
  const right = width - box.x - box.width // distance from the right edge
  const below = height - box.y - box.height
  switch (orientation) {
    case 1:
      return box
    case 2:
      return { ...box, x: right }
    case 3:
      return { ...box, x: right, y: below }
    case 4:
      return { ...box, y: below }
    case 5:
      return { x: box.y, y: box.x, width: box.height, height: box.width }
    case 6:
      return { x: box.y, y: right, width: box.height, height: box.width }
    case 7:
      return { x: below, y: right, width: box.height, height: box.width }
    case 8:
      return { x: below, y: box.x, width: box.height, height: box.width }
  }
}

/** The picture turned upright: the same one for orientation 1, otherwise a packed copy in the workspace. */
export function upright(picture: Picture, orientation: Orientation, work: Workspace): Picture {
  if (orientation === 1) return picture
  const { channels, stride } = picture
  const swapped = swapsAxes(orientation)
  const width = swapped ? picture.height : picture.width
  const height = swapped ? picture.width : picture.height
  const at = work.take(width * height * channels)
  const { u8 } = work
  // Walk the upright picture row by row; `right` and `down` are the steps that makes in the stored one.
  const fromRight = orientation === 2 || orientation === 3 || orientation === 7 || orientation === 8
  const fromBelow = orientation === 3 || orientation === 4 || orientation === 6 || orientation === 7
  const alongX = fromRight ? -channels : channels
  const alongY = fromBelow ? -stride : stride
  const right = swapped ? alongY : alongX
  const down = swapped ? alongX : alongY
  const start =
    picture.at +
    (fromRight ? (picture.width - 1) * channels : 0) +
    (fromBelow ? (picture.height - 1) * stride : 0)
  let to = at
  for (let y = 0; y < height; y++) {
    let from = start + y * down
    for (let x = 0; x < width; x++, from += right) {
      for (let c = 0; c < channels; c++) u8[to++] = u8[from + c]
    }
  }
  return { at, width, height, channels, stride: width * channels }
}
