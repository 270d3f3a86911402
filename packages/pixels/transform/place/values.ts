/**
 * What a byte of a picture becomes in the slot. For every dtype and channel there are just 256 values: they are
 * computed once, when the field is compiled, and are the definition of what kernels must deliver.
 *
 *   float dtypes   (x · 1/255 − mean) / std, each operation rounded to float32: bit for bit what torchvision v2's
 *                  to_dtype(float32, scale=True), which multiplies, and normalize, which divides, give; without
 *                  normalize, x · 1/255. f16 and bf16 are that, rounded once more, to nearest even; f64 is
 *                  computed in float64 throughout.
 *   integers       x itself (i8, which can't hold 128…255, is refused); bool: x ≠ 0. Masks: x itself, in any dtype.
 */
import { DTYPES, type Dtype, toBf16, toF16 } from '../../../core/basics/dtype.js'
import { MillraceError } from '../../../core/basics/errors.js'

/** How the kernel writes values. The numbers are the kernel's. */
export const EMIT = { bytes: 0, multiply: 1, divide: 2, look: 3 } as const

export interface Values {
  dtype: Dtype
  channels: 1 | 3
  /** Bytes of one element. */
  entry: number
  /** 256 elements for each channel, in the dtype's bytes. */
  lookup: Uint8Array
  /** The quickest way that gives exactly those values … */
  emit: number
  /** … and the constants it needs: see `rows/emit.ts` of the kernel. */
  constants: Uint8Array
}

const FLOATS: ReadonlySet<Dtype> = new Set(['f16', 'bf16', 'f32', 'f64'])
const f = Math.fround
const SCALE = f(1 / 255)

/** Of values scaled to 0…1: one number for each channel, or one for all. */
export interface Statistics {
  mean: readonly number[]
  std: readonly number[]
}

/** `plain` values are those of the bytes themselves, in every dtype. */
export function compileValues(dtype: Dtype, channels: 1 | 3, how?: Statistics | 'plain'): Values {
  const normalize = how === 'plain' ? undefined : how
  if (normalize !== undefined && !FLOATS.has(dtype)) {
    throw new MillraceError(`normalize needs a float dtype (f32, f16, bf16, f64), not ${dtype}: set "dtype"`)
  }
  if (dtype === 'i8') throw new MillraceError("pixels go from 0 to 255, which i8 can't hold: take u8 or i16")
  const entry = DTYPES[dtype].bytes
  const lookup = new Uint8Array(channels * 256 * entry)
  const put = writer(dtype, lookup)
  for (let c = 0; c < channels; c++) {
    for (let x = 0; x < 256; x++)
      put(c * 256 + x, how === 'plain' && dtype !== 'bool' ? x : exact(x, dtype, channelOf(normalize, c)))
  }
  const quick = dtype === 'u8' ? { emit: EMIT.bytes, constants: new Uint8Array(0) } : undefined
  const float =
    dtype === 'f32' && how !== 'plain'
      ? floatForm(channels, normalize, new Float32Array(lookup.buffer))
      : undefined
  return { dtype, channels, entry, lookup, ...(quick ?? float ?? { emit: EMIT.look, constants: lookup }) }
}

interface Normal {
  mean: number
  std: number
}

function channelOf(normalize: Statistics | undefined, channel: number): Normal | undefined {
  if (normalize === undefined) return undefined
  const { mean, std } = normalize
  return { mean: mean[Math.min(channel, mean.length - 1)], std: std[Math.min(channel, std.length - 1)] }
}

function exact(x: number, dtype: Dtype, normal: Normal | undefined): number {
  if (dtype === 'bool') return x === 0 ? 0 : 1
  if (!FLOATS.has(dtype)) return x
  if (dtype === 'f64')
    return normal === undefined ? x * (1 / 255) : (x * (1 / 255) - normal.mean) / normal.std
  const scaled = f(x * SCALE)
  return normal === undefined ? scaled : f(f(scaled - f(normal.mean)) / f(normal.std))
}

/** Writes element i of a dtype into bytes. */
function writer(dtype: Dtype, bytes: Uint8Array): (index: number, value: number) => void {
  const { array: View } = DTYPES[dtype]
  const view = new View(bytes.buffer)
  if (view instanceof BigInt64Array) return (i, value) => (view[i] = BigInt(value))
  if (dtype === 'f16') return (i, value) => (view[i] = toF16(value))
  if (dtype === 'bf16') return (i, value) => (view[i] = toBf16(value))
  return (i, value) => (view[i] = value)
}

/** The formula itself, or with a multiplication for its division where that gives every one of the same values. */
function floatForm(channels: number, normalize: Statistics | undefined, exactly: Float32Array) {
  const normals = Array.from({ length: 3 }, (_, c) => channelOf(normalize, c) ?? { mean: 0, std: 1 })
  const same = exactly.every((value, i) => {
    const { mean, std } = normals[Math.min(i >> 8, channels - 1)]
    return f(f(f((i & 255) * SCALE) - f(mean)) * f(1 / f(std))) === value
  })
  const factors = normals.map(({ std }) => (same ? 1 / f(std) : std))
  const constants = Float32Array.from([SCALE, ...normals.map(({ mean }) => mean), ...factors])
  return { emit: same ? EMIT.multiply : EMIT.divide, constants: new Uint8Array(constants.buffer) }
}
