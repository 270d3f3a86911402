/**
 * PNG headers, and PNG masks. Pictures go through libvips, but it turns palettes into colours, and a mask's
 * palette indices are its classes: those are read here, as `numpy.array(PIL.Image.open(file))` gives them.
 */
import { inflateSync } from 'node:zlib'
import { DecodeError } from '../../../core/basics/errors.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { type Orientation, orientationIn } from './exif.js'
import type { Picture } from './picture.js'

export interface PngHeader {
  width: number
  height: number
  /** Bits a sample: 1, 2, 4, 8 or 16. */
  depth: number
  /** 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGB and alpha. */
  colour: number
  interlaced: boolean
  orientation: Orientation
  /** Where the compressed pixels lie: [start, end) of each IDAT chunk's body. */
  data: [start: number, end: number][]
}

const SIGNATURE_BYTES = 8
/** Chunks that libpng unpacks, to as much as 8 MB each, whether they are wanted or not; and how many may be there. */
const PACKED: readonly string[] = ['zTXt', 'iTXt', 'iCCP']
const MOST_PACKED = 64
const COLOURS: Readonly<Record<number, string>> = {
  0: 'gray',
  2: 'RGB',
  3: 'palette',
  4: 'gray with alpha',
  6: 'RGB with alpha',
}

/** Reads the chunks of a PNG whose signature has been recognised. */
export function readPngHeader(bytes: Uint8Array): PngHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 33 || chunkName(view, SIGNATURE_BYTES) !== 'IHDR') {
    throw new DecodeError(`PNG is cut off within its header, after ${bytes.length} bytes`)
  }
  const header: PngHeader = {
    width: view.getUint32(16),
    height: view.getUint32(20),
    depth: bytes[24],
    colour: bytes[25],
    interlaced: bytes[28] === 1,
    orientation: 1,
    data: [],
  }
  let packed = 0
  // Each chunk: length, name, body, checksum.
  for (let at = SIGNATURE_BYTES; at + 8 <= bytes.length; ) {
    const start = at + 8
    const end = Math.min(start + view.getUint32(at), bytes.length)
    const name = chunkName(view, at)
    if (name === 'IDAT') header.data.push([start, end])
    else if (name === 'eXIf') header.orientation = orientationIn(bytes, start, end)
    else if (name === 'IEND') break
    else if (PACKED.includes(name) && ++packed > MOST_PACKED) {
      throw new DecodeError(`PNG has more than ${MOST_PACKED} compressed texts: write it again without them`)
    }
    at = end + 4
  }
  return header
}

function chunkName(view: DataView, at: number): string {
  return String.fromCharCode(
    view.getUint8(at + 4),
    view.getUint8(at + 5),
    view.getUint8(at + 6),
    view.getUint8(at + 7),
  )
}

/** The seven passes of an interlaced PNG: first column and row, and steps from one pixel to the next. */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const
const ONE_PASS = [[0, 0, 1, 1]] as const

/**
 * Decodes a mask of one channel: palette indices; gray of 8 bits as it is, of 2 and 4 bits spread over 0…255, of
 * 1 bit as 0 and 1. Alpha is dropped.
 */
export function decodePngMask(bytes: Uint8Array, header: PngHeader, work: Workspace): Picture {
  const { width, height, depth, colour } = header
  if (colour === 2 || colour === 6) {
    throw new DecodeError(
      `mask has colours (${COLOURS[colour]} PNG): store class numbers as a gray or palette PNG`,
    )
  }
  if (depth > 8) throw new DecodeError('mask has 16 bits a pixel: only masks of up to 8 bits can be decoded')
  if (COLOURS[colour] === undefined || ![1, 2, 4, 8].includes(depth) || (colour === 4 && depth !== 8)) {
    throw new DecodeError(`PNG has colour type ${colour} with ${depth} bits, which the format does not allow`)
  }
  const samples = colour === 4 ? 2 : 1
  const passes = (header.interlaced ? ADAM7 : ONE_PASS)
    .map(([x, y, dx, dy]) => ({
      x,
      y,
      dx,
      dy,
      width: Math.ceil((width - x) / dx),
      height: Math.ceil((height - y) / dy),
    }))
    .filter(pass => pass.width > 0 && pass.height > 0)
  const rowBytes = (pixels: number) => Math.ceil((pixels * depth * samples) / 8)
  const expected = passes.reduce((sum, pass) => sum + pass.height * (1 + rowBytes(pass.width)), 0)
  const rows = inflate(bytes, header, expected)

  const spread = colour === 0 && depth > 1 ? 255 / (2 ** depth - 1) : 1
  const top = 2 ** depth - 1
  const at = work.take(width * height)
  const { u8 } = work
  let row = 0 // offset of the row's filter byte
  for (const pass of passes) {
    const length = rowBytes(pass.width)
    for (let j = 0; j < pass.height; j++, row += 1 + length) {
      unfilter(rows, row, length, samples, j === 0)
      let to = at + (pass.y + j * pass.dy) * width + pass.x
      for (let i = 0; i < pass.width; i++, to += pass.dx) {
        const bit = i * depth * samples
        const byte = rows[row + 1 + (bit >> 3)]
        u8[to] = ((byte >> (8 - depth - (bit & 7))) & top) * spread
      }
    }
  }
  return { at, width, height, channels: 1, stride: width }
}

/** The filtered rows: exactly `expected` bytes. */
function inflate(bytes: Uint8Array, header: PngHeader, expected: number): Uint8Array {
  const pieces = header.data.map(([start, end]) => bytes.subarray(start, end))
  const packed = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
  let rows: Uint8Array
  try {
    rows = inflateSync(packed, { maxOutputLength: expected })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const problem =
      code === 'ERR_BUFFER_TOO_LARGE'
        ? `are more than the ${expected} bytes that it should have`
        : `can't be unpacked (${message})`
    throw new DecodeError(`PNG's pixels ${problem}: the file is damaged`, { cause })
  }
  if (rows.length < expected) {
    throw new DecodeError(`PNG has ${rows.length} of ${expected} bytes of pixels: the file is cut off`)
  }
  return rows
}

/** Undoes the filter of one row in place; `distance` is the bytes back to the pixel on the left. */
function unfilter(rows: Uint8Array, row: number, length: number, distance: number, first: boolean): void {
  const kind = rows[row]
  const start = row + 1
  const above = 1 + length // bytes back to the same place in the row above
  switch (kind) {
    case 0:
      return
    case 1:
      for (let i = distance; i < length; i++) rows[start + i] += rows[start + i - distance]
      return
    case 2:
      if (first) return
      for (let i = 0; i < length; i++) rows[start + i] += rows[start + i - above]
      return
    case 3:
      for (let i = 0; i < length; i++) {
        const left = i < distance ? 0 : rows[start + i - distance]
        const up = first ? 0 : rows[start + i - above]
        rows[start + i] += (left + up) >> 1
      }
      return
    case 4:
      for (let i = 0; i < length; i++) {
        const left = i < distance ? 0 : rows[start + i - distance]
        const up = first ? 0 : rows[start + i - above]
        const corner = first || i < distance ? 0 : rows[start + i - above - distance]
        rows[start + i] += paeth(left, up, corner)
      }
      return
    default:
      throw new DecodeError(`PNG row has filter ${kind}, which the format does not know: the file is damaged`)
  }
}

/** The one of the three that is nearest to left + up − corner. */
function paeth(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner)
  const toUp = Math.abs(left - corner)
  const toCorner = Math.abs(left + up - 2 * corner)
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}
