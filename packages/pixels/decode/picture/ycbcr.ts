/**
 * YCbCr to RGB, by JPEG's formula. PIL and libtiff round it differently: the caller says which one to follow, so that a
 * TIFF becomes what PIL makes of it.
 */

interface Tables {
  /** What red gets by Cr, and blue by Cb. */
  red: Int16Array
  blue: Int16Array
  /** What green gets by either, with `shift` more bits. */
  greenCb: Int32Array
  greenCr: Int32Array
  shift: number
}

/** PIL: six more bits, each product rounded by adding a half and cutting. */
function pilTables(): Tables {
  const table = (factor: number) => (_: unknown, i: number) => Math.trunc(factor * 64 * (i - 128) + 0.5)
  const all = { length: 256 }
  return {
    red: Int16Array.from(all, (_, i) => table(1.402)(_, i) >> 6),
    blue: Int16Array.from(all, (_, i) => table(1.772)(_, i) >> 6),
    greenCb: Int32Array.from(all, table(-0.34414)),
    greenCr: Int32Array.from(all, table(-0.71414)),
    shift: 6,
  }
}

/** libtiff: sixteen more bits, sums rounded to the nearest. */
function libtiffTables(): Tables {
  const fixed = (x: number): number => Math.trunc(Math.fround(x) * 65536 + 0.5)
  const [red, blue] = [2 - 2 * 0.299, 2 - 2 * 0.114]
  const [greenCr, greenCb] = [(0.299 * red) / 0.587, (0.114 * blue) / 0.587].map(fixed)
  const half = 1 << 15
  const all = { length: 256 }
  return {
    red: Int16Array.from(all, (_, i) => (fixed(red) * (i - 128) + half) >> 16),
    blue: Int16Array.from(all, (_, i) => (fixed(blue) * (i - 128) + half) >> 16),
    greenCb: Int32Array.from(all, (_, i) => -greenCb * (i - 128)),
    greenCr: Int32Array.from(all, (_, i) => -greenCr * (i - 128) + half),
    shift: 16,
  }
}

const made: { pil?: Tables; libtiff?: Tables } = {}

/** Converts packed pixels in place. */
export function ycbcrToRgb(u8: Uint8Array, at: number, pixels: number, as: 'pil' | 'libtiff'): void {
  const tables = (made[as] ??= as === 'pil' ? pilTables() : libtiffTables())
  const { red, blue, greenCb, greenCr, shift } = tables
  for (let i = at; i < at + pixels * 3; i += 3) {
    const [y, cb, cr] = [u8[i], u8[i + 1], u8[i + 2]]
    u8[i] = clamp(y + red[cr])
    u8[i + 1] = clamp(y + ((greenCb[cb] + greenCr[cr]) >> shift))
    u8[i + 2] = clamp(y + blue[cb])
  }
}

const clamp = (x: number): number => Math.max(0, Math.min(255, x))
