/**
 * The parameter row: what is to be done to one picture, as 32-bit words that the device stage hands to the `picture`
 * kernel. A row of a picture field that is finished on the device is
 *
 *   [ header: 32 words | ops: 16 words each | … room for as many as the field can need ][ bytes of the picture ]
 *
 * Numbers here are the kernel's (kernels/cuda/picture.cuh); `twins/picture.ts` is the plain version of what it does.
 */
import type { Mixing } from './mix.js'
import type { Mosaic } from './mosaic.js'
import type { FinalStep } from './steps.js'

export const HEADER_WORDS = 32
export const OP_WORDS = 16

/** What the bytes behind the parameter row are. */
export const Form = {
  /** No picture: a row of zeros. */
  Nothing: 0,
  /** A baseline JPEG of one scan: nvJPEG decodes it. */
  Jpeg: 1,
  /** RGB, 8 bits, interleaved, without gaps: decoded already. */
  Pixels: 3,
} as const

/** Words of the header. */
export const Word = {
  Form: 0,
  /** Bytes behind the parameter row. */
  Bytes: 1,
  /** Size as decoded, before the orientation is applied; and the orientation, as in EXIF. */
  StoredWidth: 2,
  StoredHeight: 3,
  Orientation: 4,
  Ops: 5,
  /** Bytes of the largest picture that an op leaves. */
  PictureBytes: 6,
  /** Size of the finished picture. */
  Width: 7,
  Height: 8,
  Mixes: 9,
  /** Bytes that the largest `place` needs for its tables. */
  TableBytes: 10,
  /** Of a JPEG: how its chroma is sampled (decode/jpeg.ts). nvJPEG decodes each kind apart. */
  Sampling: 11,
  /** The crop that was chosen with a look at the boxes, for a maker that makes the row again: x, y, width, height. */
  Crop: 12,
  /**
   * Two mixes of six words: kind, share, then of mixup the partner's share, of cutmix x, y, width, height; of mosaic the
   * kind, seed, threshold, and where points lie along x and y, first and last in the halves of a word.
   */
  Mix: 16,
} as const

export const MIX_WORDS = 6
export const MOST_MIXES = 2
export const MixKind = { Mixup: 1, Cutmix: 2, Mosaic: 3 } as const

/** Codes of the ops. */
export const OpCode = {
  place: 1,
  crop: 2,
  pad: 3,
  affine: 4,
  brightness: 5,
  contrast: 6,
  saturation: 7,
  hue: 8,
  sharpness: 9,
  grayscale: 10,
  autocontrast: 11,
  equalize: 12,
  invert: 13,
  posterize: 14,
  solarize: 15,
  blur: 16,
  erase: 17,
  permute: 18,
  perspective: 19,
  elastic: 20,
} as const

export const FILTER_CODES = { nearest: 0, bilinear: 1, bicubic: 2 } as const
export const PAD_CODES = { constant: 0, edge: 1, reflect: 2, symmetric: 3 } as const

/** An op: its code, and its arguments as they follow it. Whole numbers, or `{ f32 }` and `{ f64 }` for others. */
export interface Op {
  code: number
  args: readonly (number | { f32: number } | { f64: number })[]
}

/** Writes parameter rows. One a maker and field: views of the memory are renewed only when it has grown. */
export class RowWriter {
  private words = new Int32Array(0)
  private floats = new Float32Array(0)
  private readonly double = new Float64Array(1)
  private readonly halves = new Int32Array(this.double.buffer)

  /** The words of a row that begins at byte `at`. */
  header(memory: WebAssembly.Memory, at: number): Int32Array {
    if (this.words.buffer !== memory.buffer) {
      this.words = new Int32Array(memory.buffer)
      this.floats = new Float32Array(memory.buffer)
    }
    return this.words.subarray(at / 4, at / 4 + HEADER_WORDS)
  }

  /** Writes op number `index`. */
  op(memory: WebAssembly.Memory, at: number, index: number, { code, args }: Op): void {
    this.header(memory, at)
    const { words, floats } = this
    let next = at / 4 + HEADER_WORDS + index * OP_WORDS
    words[next++] = code
    for (const arg of args) {
      if (typeof arg === 'number') words[next++] = arg
      else if ('f32' in arg) floats[next++] = arg.f32
      else {
        this.double[0] = arg.f64
        words[next++] = this.halves[0]
        words[next++] = this.halves[1]
      }
    }
  }
}

export function eraseOp(step: Extract<FinalStep, { do: 'erase' }>): Op {
  const { x, y, width, height, value, seed } = step
  const colour = value === 'random' ? [0] : value
  const channel = (c: number): { f64: number } => ({ f64: colour[c] ?? colour[0] })
  const random = value === 'random' ? 1 : 0
  return {
    code: OpCode.erase,
    args: [x, y, width, height, random, seed, channel(0), channel(1), channel(2)],
  }
}

/** Notes in every row of a batch how it is mixed. */
export function writeMix(
  memory: WebAssembly.Memory,
  at: number,
  rowBytes: number,
  count: number,
  mix: Op['args'],
): void {
  const words = new Int32Array(memory.buffer)
  const floats = new Float32Array(memory.buffer)
  for (let row = 0; row < count; row++) {
    const header = (at + row * rowBytes) / 4
    const first = header + Word.Mix + words[header + Word.Mixes] * MIX_WORDS
    words[header + Word.Mixes]++
    for (const [i, value] of mix.entries()) {
      if (typeof value === 'number') words[first + i] = value
      else if ('f32' in value) floats[first + i] = value.f32
    }
  }
}

/** Mixup or cutmix, each row with the row before it. */
export function mixWords({ share, box }: Mixing): Op['args'] {
  // Each share is rounded by itself: not 1 less the rounded share.
  if (box === undefined) return [MixKind.Mixup, { f32: share }, { f32: 1 - share }]
  return [MixKind.Cutmix, { f32: share }, box.x, box.y, box.width, box.height]
}

export function mosaicWords({ seed, threshold, x, y }: Mosaic): Op['args'] {
  const both = ([first, last]: readonly [number, number]): number => first | (last << 16)
  return [MixKind.Mosaic, seed, threshold, both(x), both(y)]
}
