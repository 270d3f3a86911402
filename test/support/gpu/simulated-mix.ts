/** What the `mix` kernel does, plainly: each row with those before it, as row 0's header says. */
import { DTYPES, type Dtype, toBf16, toF16 } from '../../../packages/core/basics/dtype.js'
import { partsOf, rowBefore } from '../../../packages/pixels/operators/mosaic/mosaic.js'
import { roundEven } from '../../../packages/pixels/test/transform/twins/filter.js'
import { fromBf16, fromF16 } from '../../../packages/pixels/test/transform/twins/mix.js'
import { MIX_WORDS, MixKind, Word } from '../../../packages/pixels/transform/device/parameter-words.js'

interface Rows {
  count: number
  dtype: Dtype
  hwc: boolean
  width: number
  height: number
}

const fround = Math.fround
const same = (value: number) => value
/** How an element is read as a number, and a number written as an element; cutmix needs neither. */
const CODECS: Partial<Record<Dtype, [read: (bits: number) => number, write: (value: number) => number]>> = {
  u8: [same, roundEven],
  f16: [fromF16, toF16],
  bf16: [fromBf16, toBf16],
}

export function mixRows(header: Uint32Array, which: number, from: Uint8Array, rows: Rows): Uint8Array {
  const { count, dtype, hwc, width, height } = rows
  const at = Word.Mix + which * MIX_WORDS
  const floats = new Float32Array(header.buffer)
  const elements = 3 * width * height
  const source = new DTYPES[dtype].array(from.buffer, from.byteOffset, count * elements) as Float32Array
  const out = source.slice()
  const [read, write] = CODECS[dtype] ?? [same, same]
  if (header[at] === MixKind.Mosaic) {
    const [seed, threshold, xs, ys] = header.subarray(at + 1, at + 5)
    const both = (word: number) => [word & 0xffff, word >>> 16] as const
    const mosaic = { seed, threshold, x: both(xs), y: both(ys) }
    const channels = hwc ? 3 : 1
    for (let row = 0; row < count; row++)
      for (const part of partsOf(mosaic, row, { width, height }) ?? [])
        for (let plane = 0; plane < 3 / channels; plane++)
          for (let line = 0; line < part.height; line++) {
            const place = (of: number, { x, y }: { x: number; y: number }): number =>
              of * elements + ((plane * height + y + line) * width + x) * channels
            const from = place(rowBefore(row, part.back, count), part.from)
            out.set(source.subarray(from, from + part.width * channels), place(row, part.to))
          }
    return new Uint8Array(out.buffer, out.byteOffset, out.byteLength)
  }
  const [x, y, w, h] = header.subarray(at + 2, at + 6)
  for (let row = 0; row < count; row++) {
    const partner = row === 0 ? count - 1 : row - 1
    for (let i = 0; i < elements; i++) {
      const [own, other] = [source[row * elements + i], source[partner * elements + i]]
      const column = hwc ? Math.floor(i / 3) % width : i % width
      const line = hwc ? Math.floor(i / (3 * width)) : Math.floor(i / width) % height
      if (header[at] === MixKind.Mixup)
        out[row * elements + i] = write(
          fround(fround(read(other) * floats[at + 2]) + fround(read(own) * floats[at + 1])),
        )
      else if (header[at] === MixKind.Cutmix && column >= x && column < x + w && line >= y && line < y + h)
        out[row * elements + i] = other
    }
  }
  return new Uint8Array(out.buffer, out.byteOffset, out.byteLength)
}
