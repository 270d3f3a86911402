/**
 * AVIF pictures that their file turns or mirrors. libheif does that before it has made full colours of 4:2:0, and spoils
 * an outer row and column of pictures of an odd size. So it gets the picture as it is stored, and what the file wants
 * is done here, as for any other orientation.
 *
 *   box: size u32, name, contents     meta (version and flags u32) > iprp > ipco > properties
 *   irot: quarter turns, counter-clockwise      imir: 0 upside down, 1 left to right; done after turning
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { Orientation } from './exif.js'

export interface Avif {
  /** What libvips gets: the file, or a copy that turns and mirrors nothing. */
  bytes: Uint8Array
  orientation: Orientation
}

/** By quarter turns: without a mirror, mirrored upside down, mirrored left to right. */
const ORIENTATIONS: readonly (readonly [Orientation, Orientation, Orientation])[] = [
  [1, 4, 2],
  [8, 5, 7],
  [3, 2, 4],
  [6, 7, 5],
]

/** Looks for the properties that turn and mirror. Where they are of several kinds, libheif is to do it. */
export function readAvif(bytes: Uint8Array): Avif {
  const plain: Avif = { bytes, orientation: 1 }
  const properties = contentsOf(bytes, ['meta', 'iprp', 'ipco'])
  for (const { name, from, to } of properties) if (name === 'ispe') checkSize(bytes, from, to)
  const turns = properties.filter(({ name }) => name === 'irot')
  const mirrors = properties.filter(({ name }) => name === 'imir')
  const odd = [...turns, ...mirrors].some(({ from, to }) => to - from !== 1)
  if (turns.length + mirrors.length === 0 || turns.length > 1 || mirrors.length > 1 || odd) return plain
  if (properties.some(({ name }) => name === 'clap')) return plain // is cut out before it is turned
  const quarter = turns.length === 0 ? 0 : bytes[turns[0].from] & 3
  const mirror = mirrors.length === 0 ? 0 : 1 + (bytes[mirrors[0].from] & 1)
  const copy = bytes.slice()
  for (const { from } of [...turns, ...mirrors]) {
    copy.set([0x69, 0x72, 0x6f, 0x74, 0], from - 4) // "irot", no turn
  }
  return { bytes: copy, orientation: ORIENTATIONS[quarter][mirror] }
}

/** A side of a picture in AV1 has at most as many pixels. */
const LONGEST = 65_536

/** libvips takes a side that is too long for one of a single pixel. */
function checkSize(bytes: Uint8Array, from: number, to: number): void {
  if (to - from < 12) return
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const [width, height] = [view.getUint32(from + 4), view.getUint32(from + 8)]
  if (width <= LONGEST && height <= LONGEST) return
  throw new DecodeError(`avif says that it has ${width}×${height} pixels: the file is damaged`)
}

interface Box {
  name: string
  from: number
  to: number
}

/** Boxes within the box at the end of a path; none where a file is cut off or has no such box. */
function contentsOf(bytes: Uint8Array, path: readonly string[]): Box[] {
  let within = boxesIn(bytes, 0, bytes.length)
  for (const name of path) {
    const found = within.find(box => box.name === name)
    if (found === undefined) return []
    within = boxesIn(bytes, found.from + (name === 'meta' ? 4 : 0), found.to)
  }
  return within
}

/** More boxes side by side than any file has. */
const MOST_BOXES = 10_000

function boxesIn(bytes: Uint8Array, from: number, to: number): Box[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const boxes: Box[] = []
  for (let at = from; at + 8 <= to && boxes.length < MOST_BOXES; ) {
    const size = view.getUint32(at)
    const end = size === 0 ? to : at + size // sizes of 64 bits (1) are for data alone
    if (end < at + 8 || end > to) break
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
    boxes.push({ name, from: at + 8, to: end })
    at = end
  }
  return boxes
}
