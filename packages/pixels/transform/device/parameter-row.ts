/**
 * The parameter row: what is to be done to one picture, as 32-bit words that the device stage hands to the `picture`
 * kernel. A row of a picture field that is finished on the device is
 *
 *   [ header: 32 words | ops: 16 words each | … room for as many as the field can need ][ bytes of the picture ]
 *
 * Its words are those of parameter-words.ts; `packages/pixels/test/transform/twins/picture.ts` is the plain version of what the kernel does with them.
 */
import { MillraceError } from '../../../core/basics/errors.js'
import type { DevicePicture, SlotField } from '../../../core/define/making.js'
import type { Mixing } from '../../operators/mix/mix.js'
import type { Mosaic } from '../../operators/mosaic/mosaic.js'
import type { Arg } from '../../operators/step.js'
import { HEADER_WORDS, MIX_WORDS, MixKind, OP_WORDS, Word } from './parameter-words.js'

/** An op: its code, and its arguments as they follow it. */
export interface Op {
  code: number
  args: readonly Arg[]
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

/** What a picture field is on the device. */
export function pictureOf({ name, device }: SlotField): DevicePicture {
  if (device?.kind === 'picture') return device
  throw new MillraceError(`field "${name}" is not finished on the device`)
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
