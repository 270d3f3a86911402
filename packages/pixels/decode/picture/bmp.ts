/**
 * BMP pictures, which libvips as we have it does not read: 1, 4, 8, 16, 24 and 32 bits a pixel, either way up, with
 * bit masks and run lengths, as PIL reads them. As a mask, a picture of up to 8 bits gives its palette's indices.
 *
 *    0  2 "BM" · size of the file 4 · 4 unused · 10  4 where the pixels begin
 *   14  4 size of the header that follows: 12 (OS/2), 40, 52, 56, 64, 108 or 124
 *   18  4 width · 22 4 height, negative: top row first · 26 2 planes · 28 2 bits · 30 4 compression · 46 4 colours
 *   54  4 masks of red, green, blue (compression 3), in the header or behind one of 40 bytes
 *    …    palette: blue, green, red and, but for OS/2, a byte unused
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Box, Picture } from './picture.js'

export interface BmpHeader {
  width: number
  height: number
  orientation: 1
  topDown: boolean
  bits: number
  /** 0: none, 1: RLE8, 2: RLE4, 3: bit masks. */
  compression: number
  /** Where the pixels begin. */
  data: number
  /** Masks of red, green and blue in a pixel of 16 or 32 bits. */
  masks: readonly [number, number, number]
  palette: { at: number; colours: number; entryBytes: 3 | 4 }
}

const HEADERS = [12, 40, 52, 56, 64, 108, 124]
const COMPRESSIONS: Readonly<Record<number, string>> = { 4: 'JPEG', 5: 'PNG', 6: 'bit masks with alpha' }
const RGB_555 = [0x7c00, 0x3e0, 0x1f] as const
const RGB_888 = [0xff0000, 0xff00, 0xff] as const

export function readBmpHeader(bytes: Uint8Array): BmpHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const size = bytes.length < 18 ? 0 : view.getUint32(14, true)
  if (bytes.length < 18 || bytes.length < 14 + size) throw cutOff('header', bytes.length)
  if (!HEADERS.includes(size)) throw new DecodeError(`BMP has a header of ${size} bytes, of a kind unknown`)
  const old = size === 12
  const signed = old ? view.getUint16(20, true) : view.getInt32(22, true)
  const bits = view.getUint16(old ? 24 : 28, true)
  const compression = old ? 0 : view.getUint32(30, true)
  const colours = (old ? 0 : view.getUint32(46, true)) || 2 ** Math.min(bits, 8)
  const entryBytes = old ? 3 : 4
  const masks = compression === 3 ? readMasks(view, bits) : bits === 16 ? RGB_555 : RGB_888
  const at = 14 + size + (compression === 3 && size === 40 ? 12 : 0)
  const behind = at + (bits <= 8 ? colours * entryBytes : 0)
  const said = view.getUint32(10, true)
  const header: BmpHeader = {
    width: old ? view.getUint16(18, true) : view.getInt32(18, true),
    height: Math.abs(signed),
    orientation: 1,
    topDown: signed < 0,
    bits,
    compression,
    // Some writers forget the palette when they say where the pixels begin.
    data: said < 14 + size || (said === 14 + size && bits <= 8) ? behind : said,
    masks,
    palette: { at, colours: Math.min(colours, 256), entryBytes },
  }
  check(header)
  return header
}

/** Decodes a picture, or the box of it that is wanted. `channels` 1: the palette's indices. */
export function decodeBmp(
  bytes: Uint8Array,
  header: BmpHeader,
  box: Box | undefined,
  channels: 1 | 3,
  work: Workspace,
): Picture {
  const { bits, compression } = header
  if (channels === 1 && bits > 8) {
    throw new DecodeError('mask has colours (BMP): store class numbers as a gray or palette PNG')
  }
  const { x, y, width, height } = box ?? { x: 0, y: 0, width: header.width, height: header.height }
  const at = work.take(width * height * channels)
  const picture: Picture = { at, width, height, channels, stride: width * channels }
  const runs = compression === 1 || compression === 2
  const indices = runs ? unpackRuns(bytes, header) : undefined
  const stride = indices ? header.width : Math.ceil((header.width * bits) / 32) * 4
  const start = indices ? 0 : header.data
  const source = indices ?? bytes
  if (start + stride * header.height > source.length) {
    const rows = Math.max(0, Math.floor((source.length - start) / stride))
    throw cutOff(`pixels: it has ${rows} of ${header.height} rows`, source.length)
  }
  const put = pixelWriter(
    source,
    indices ? { ...header, bits: 8 } : header,
    colourTable(bytes, header),
    channels,
    work.u8,
  )
  for (let row = 0; row < height; row++) {
    const stored = header.topDown ? y + row : header.height - 1 - y - row
    put(start + stored * stride, x, width, at + row * picture.stride)
  }
  return picture
}

/** Writes `width` pixels from `x` on of the stored row at `from` to `to`. */
type PutRow = (from: number, x: number, width: number, to: number) => void

function pixelWriter(
  source: Uint8Array,
  { bits, masks }: BmpHeader,
  table: Uint8Array,
  channels: 1 | 3,
  out: Uint8Array,
): PutRow {
  if (bits <= 8) {
    const most = 2 ** bits - 1
    return (from, x, width, to) => {
      for (let i = x; i < x + width; i++) {
        const bit = i * bits
        const index = (source[from + (bit >>> 3)] >>> (8 - bits - (bit & 7))) & most
        if (channels === 1) out[to++] = index
        else {
          out[to++] = table[3 * index]
          out[to++] = table[3 * index + 1]
          out[to++] = table[3 * index + 2]
        }
      }
    }
  }
  if (bits === 24) {
    return (from, x, width, to) => {
      for (let at = from + 3 * x; at < from + 3 * (x + width); at += 3) {
        out[to++] = source[at + 2]
        out[to++] = source[at + 1]
        out[to++] = source[at]
      }
    }
  }
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  const parts = masks.map(mask => {
    const shift = 31 - Math.clz32(mask & -mask)
    return { mask, shift, most: mask >>> shift }
  })
  const pixelBytes = bits / 8
  return (from, x, width, to) => {
    for (let i = x; i < x + width; i++) {
      const at = from + i * pixelBytes
      const pixel = bits === 16 ? view.getUint16(at, true) : view.getUint32(at, true)
      for (const { mask, shift, most } of parts) {
        out[to++] =
          most === 255 ? (pixel & mask) >>> shift : Math.floor((((pixel & mask) >>> shift) * 255) / most)
      }
    }
  }
}

/** The colours as RGB; indices beyond the palette are black. */
function colourTable(
  bytes: Uint8Array,
  { bits, palette: { at, colours, entryBytes } }: BmpHeader,
): Uint8Array {
  const table = new Uint8Array(3 * 256)
  if (bits > 8) return table
  for (let i = 0; i < colours && at + i * entryBytes + 3 <= bytes.length; i++) {
    for (let c = 0; c < 3; c++) table[3 * i + c] = bytes[at + i * entryBytes + 2 - c]
  }
  return table
}

/**
 * Run lengths to one index a byte, in the order of the file. A pair (n, v) is n pixels of v (of v's two halves in
 * turn, for RLE4); (0, 0) ends a row, (0, 1) the picture, (0, 2) is followed by a step to the right and one up, and
 * (0, n) by n pixels as they are. Pixels that are stepped over have index 0.
 */
function unpackRuns(bytes: Uint8Array, { width, height, compression, data }: BmpHeader): Uint8Array {
  const four = compression === 2
  const out = new Uint8Array(width * height)
  let x = 0
  let row = 0
  let at = data
  const put = (value: number): void => {
    if (x < width) out[row * width + x++] = value // what is too much for a row is left out
  }
  while (row < height) {
    if (at + 2 > bytes.length) throw cutOff(`pixels: it has ${row} of ${height} rows`, bytes.length)
    const count = bytes[at++]
    const value = bytes[at++]
    if (count > 0) {
      for (let i = 0; i < count; i++) put(four ? (i % 2 === 0 ? value >> 4 : value & 15) : value)
    } else if (value === 0) {
      row++
      x = 0
    } else if (value === 1) {
      break
    } else if (value === 2) {
      if (at + 2 > bytes.length) throw cutOff('pixels', bytes.length)
      x = Math.min(width, x + bytes[at++])
      row += bytes[at++]
    } else {
      const packed = four ? Math.ceil(value / 2) : value
      if (at + packed > bytes.length) throw cutOff('pixels', bytes.length)
      for (let i = 0; i < value; i++) {
        const byte = bytes[at + (four ? i >> 1 : i)]
        put(four ? (i % 2 === 0 ? byte >> 4 : byte & 15) : byte)
      }
      at += packed + (packed % 2)
    }
    if (x === width && row === height - 1) break
  }
  return out
}

function readMasks(view: DataView, bits: number): readonly [number, number, number] {
  if (view.byteLength < 66) throw cutOff('header', view.byteLength)
  const masks = [54, 58, 62].map(at => view.getUint32(at, true)) as [number, number, number]
  // Zeros stand for the usual masks.
  return masks.some(mask => mask !== 0) ? masks : bits === 16 ? RGB_555 : RGB_888
}

function check({ bits, compression, masks, topDown }: BmpHeader): void {
  const allowed = { 0: [1, 4, 8, 16, 24, 32], 1: [8], 2: [4], 3: [16, 24, 32] }[compression]
  if (allowed === undefined) {
    const name = COMPRESSIONS[compression] ?? `number ${compression}`
    throw new DecodeError(`BMP is compressed by ${name}, which can't be decoded: convert it to PNG`)
  }
  if (!allowed.includes(bits)) {
    throw new DecodeError(`BMP has ${bits} bits a pixel (compression ${compression}), which no reader knows`)
  }
  if (topDown && (compression === 1 || compression === 2)) {
    throw new DecodeError('BMP has run lengths and its top row first, which no reader knows')
  }
  const plain = masks.every(mask => mask !== 0 && isRun(mask))
  if (compression === 3 && (!plain || (bits === 24 && masks.some((mask, c) => mask !== RGB_888[c])))) {
    const shown = masks.map(mask => mask.toString(16)).join(', ')
    throw new DecodeError(`BMP has the bit masks ${shown}, which can't be decoded: convert it to PNG`)
  }
}

/** Whether the bits that are set stand side by side. */
function isRun(mask: number): boolean {
  const low = mask / ((mask & -mask) >>> 0)
  return (low & (low + 1)) === 0
}

function cutOff(where: string, bytes: number): DecodeError {
  return new DecodeError(`BMP is cut off within its ${where}, after ${bytes} bytes`)
}
