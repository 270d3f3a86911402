/**
 * GIF: the first frame, as PIL reads it. libvips makes transparent pixels black; here every pixel has the colour that
 * its palette gives, whether it is transparent or not, and a mask gets the palette's indices.
 *
 *   "GIF89a"  width height flags background aspect  [palette]  extensions …  2C x y width height flags  [palette]
 *   bits of a code  blocks of LZW codes: length u8 and as many bytes, up to one of length 0
 *
 * The canvas around a frame that is smaller has the transparent index, or 0 where there is none.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from './picture.js'

export interface GifHeader {
  width: number
  height: number
  orientation: 1
  /** The first frame within the canvas. */
  frame: { x: number; y: number; width: number; height: number; interlaced: boolean }
  /** RGB of all 256 indices. */
  palette: Uint8Array
  /** What pixels outside the frame have. */
  background: number
  /** Where the codes begin, with their bits in front. */
  data: number
}

const EXTENSION = 0x21
const IMAGE = 0x2c
const TRAILER = 0x3b
const GRAPHIC_CONTROL = 0xf9
/** A code has at most 12 bits. */
const CODES = 4096
/** First row and step of the passes of an interlaced frame. */
const PASSES: readonly [first: number, step: number][] = [
  [0, 8],
  [4, 8],
  [2, 4],
  [1, 2],
]

/** Reads everything up to the first frame's codes. */
export function readGifHeader(bytes: Uint8Array): GifHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const need = (end: number): void => {
    if (end > bytes.length) throw cut(bytes, 'within its header')
  }
  need(13)
  let palette = greys()
  let at = readPalette(bytes[10], 13)
  let background = 0
  for (;;) {
    need(at + 1)
    const block = bytes[at++]
    if (block === IMAGE) break
    if (block === TRAILER) throw new DecodeError('gif has no picture in it: the file is damaged')
    if (block !== EXTENSION) continue // stray bytes: PIL passes over them
    need(at + 2)
    const control = bytes[at] === GRAPHIC_CONTROL && bytes[at + 1] >= 4
    if (control) need(at + 6)
    if (control && (bytes[at + 2] & 1) === 1) background = bytes[at + 5]
    at++
    for (let length = bytes[at]; length !== 0; length = bytes[at]) {
      at += 1 + length
      need(at + 1)
    }
    at++
  }
  need(at + 9)
  const [x, y, width, height] = [0, 2, 4, 6].map(offset => view.getUint16(at + offset, true))
  const flags = bytes[at + 8]
  const data = readPalette(flags, at + 9)
  need(data + 2)
  return {
    width: Math.max(view.getUint16(6, true), x + width),
    height: Math.max(view.getUint16(8, true), y + height),
    orientation: 1,
    frame: { x, y, width, height, interlaced: (flags & 0x40) !== 0 },
    palette,
    background,
    data,
  }

  /** Takes over the colours that may stand at `from`, and says where they end. */
  function readPalette(flags: number, from: number): number {
    if ((flags & 0x80) === 0) return from
    const to = from + 3 * 2 ** ((flags & 7) + 1)
    need(to)
    palette = paletteOf(bytes.subarray(from, to))
    return to
  }
}

/** A palette in which every index is its own grey: what a file without one means. */
const greys = (): Uint8Array => Uint8Array.from({ length: 768 }, (_, i) => Math.floor(i / 3))

/** The file's colours, black for indices beyond them; but where all are their own grey, so are the others, as in PIL. */
function paletteOf(colours: Uint8Array): Uint8Array {
  if (colours.every((value, i) => value === Math.floor(i / 3))) return greys()
  const palette = new Uint8Array(768)
  palette.set(colours)
  return palette
}

/** Decodes the first frame on its canvas: colours, or (with one channel) indices. */
export function decodeGif(bytes: Uint8Array, header: GifHeader, channels: 1 | 3, work: Workspace): Picture {
  const { width, height, palette, background, frame } = header
  const at = work.take(width * height)
  const codes = work.take(frame.width * frame.height)
  work.u8.fill(background, at, at + width * height)
  unpackCodes(bytes, header, work.u8.subarray(codes, codes + frame.width * frame.height))
  let from = codes
  for (const [first, step] of frame.interlaced ? PASSES : [[0, 1]]) {
    for (let y = first; y < frame.height; y += step, from += frame.width) {
      work.u8.copyWithin(at + (frame.y + y) * width + frame.x, from, from + frame.width)
    }
  }
  if (channels === 1) return { at, width, height, channels, stride: width }
  const out = work.take(width * height * 3)
  const { u8 } = work
  for (let i = 0, to = out; i < width * height; i++, to += 3) {
    const colour = 3 * u8[at + i]
    u8[to] = palette[colour]
    u8[to + 1] = palette[colour + 1]
    u8[to + 2] = palette[colour + 2]
  }
  return { at: out, width, height, channels, stride: width * 3 }
}

/** The table of codes: each stands for the string of another code, and one more index. */
const before = new Uint16Array(CODES)
const last = new Uint8Array(CODES)
const lengths = new Uint16Array(CODES)

/** Fills `out` with the indices that the codes stand for, in the order of the file. What comes after them is not looked at. */
function unpackCodes(bytes: Uint8Array, { data }: GifHeader, out: Uint8Array): void {
  const bits = bytes[data]
  if (bits < 1 || bits > 8) throw damaged(`a pixel has ${bits} bits`)
  const clear = 1 << bits
  const end = clear + 1
  for (let i = 0; i < clear; i++) {
    last[i] = i
    lengths[i] = 1
  }
  let at = data + 1
  let blockEnd = at
  let [buffer, buffered] = [0, 0]
  let [next, size] = [end + 1, bits + 1]
  let previous = -1
  let put = 0
  while (put < out.length) {
    while (buffered < size) {
      if (at === blockEnd) {
        if (at >= bytes.length || bytes[at] === 0) throw cut(bytes, 'within its pixels')
        blockEnd = at + 1 + bytes[at]
        at++
        if (blockEnd > bytes.length) throw cut(bytes, 'within its pixels')
      }
      buffer |= bytes[at++] << buffered
      buffered += 8
    }
    const code = buffer & ((1 << size) - 1)
    buffer >>>= size
    buffered -= size
    if (code === clear) {
      next = end + 1
      size = bits + 1
      previous = -1
      continue
    }
    if (code === end) throw cut(bytes, 'within its pixels')
    if (previous < 0 ? code > end : code > next || (code === next && next === CODES)) {
      throw damaged(`code ${code} stands for nothing`)
    }
    // A code that is only now being made stands for the string before and the first index of that.
    const known = code === next ? previous : code
    const count = lengths[known]
    let first = known
    for (let i = put + count - 1; ; i--) {
      if (i < out.length) out[i] = last[first]
      if (i === put) break
      first = before[first]
    }
    if (code === next && put + count < out.length) out[put + count] = last[first]
    put += code === next ? count + 1 : count
    if (previous >= 0 && next < CODES) {
      before[next] = previous
      last[next] = last[first]
      lengths[next] = lengths[previous] + 1
      next++
      if (next === 1 << size && size < 12) size++
    }
    previous = code
  }
}

function cut(bytes: Uint8Array, where: string): DecodeError {
  return new DecodeError(
    `gif is cut off ${where}, after ${bytes.length} bytes: fetch the file again or drop the sample`,
  )
}

const damaged = (why: string): DecodeError => new DecodeError(`gif is damaged: ${why}`)
