/**
 * Elements of one type to another, plainly: what the kernel `convert` must give, bit for bit. The rules are NumPy's, for bf16
 * those of ml_dtypes, except that integers which the target does not hold are refused, where NumPy would wrap them around.
 *
 *   integers and bool   exactly; to floats rounded to nearest even (to bf16 by way of f32)
 *   floats              rounded to nearest even (f64 to bf16 by way of f32); f16 keeps what fits of a NaN's payload, bf16 only
 *                       its sign
 *   to bool             whether it is not 0
 *   floats to integers  never
 */
import type { StoredDtype } from '../../../../core/basics/array.js'
import { bytesOfStored, isFloatDtype } from '../../../../core/basics/array.js'
import type { Dtype } from '../../../../core/basics/dtype.js'
import { READERS } from '../../../../core/basics/element.js'
import { integersOf } from '../../../transform/plain/put-array.js'

/** Converts `count` elements; returns how many were written: fewer where the next one does not fit. */
export function convertPlain(
  source: StoredDtype,
  from: DataView,
  target: Dtype,
  to: DataView,
  count: number,
): number {
  const [sizeFrom, sizeTo] = [bytesOfStored(source), bytesOfStored(target)]
  for (let i = 0; i < count; i++) {
    const written = convertOne(source, from, i * sizeFrom, target, to, i * sizeTo)
    if (!written) return i
  }
  return count
}

function convertOne(
  source: StoredDtype,
  from: DataView,
  at: number,
  target: Dtype,
  to: DataView,
  out: number,
): boolean {
  const value = READERS[source](from, at)
  if (target === 'bool') {
    to.setUint8(out, value === 0 || value === 0n ? 0 : 1) // NaN is not 0
    return true
  }
  const range = integersOf(target)
  if (range !== undefined) {
    if (isFloatDtype(source)) return false
    const exact = BigInt(value)
    if (exact < range[0] || exact > range[1]) return false
    const bytes = bytesOfStored(target)
    for (let b = 0; b < bytes; b++) to.setUint8(out + b, Number((exact >> BigInt(8 * b)) & 255n))
    return true
  }
  if (Number.isNaN(value)) putNan(nanIn(source, from, at), source, target, to, out)
  else putFloat(value, target, to, out)
  return true
}

function putFloat(value: number | bigint, target: Dtype, to: DataView, out: number): void {
  if (target === 'f64') to.setFloat64(out, Number(value), true)
  else if (target === 'f32') to.setFloat32(out, toSingle(value), true)
  else if (target === 'f16')
    to.setUint16(out, toHalf(typeof value === 'bigint' ? toSingle(value) : value), true)
  else to.setUint16(out, toBrain(toSingle(value)), true)
}

/** The nearest float32, in one step: by way of a float64, an integer of 64 bits would be rounded twice. */
function toSingle(value: number | bigint): number {
  if (typeof value === 'number') return Math.fround(value)
  const negative = value < 0n
  let magnitude = negative ? -value : value
  const extra = magnitude.toString(2).length - 24
  if (extra > 0) {
    const unit = 1n << BigInt(extra)
    const [rest, half] = [magnitude % unit, unit / 2n]
    magnitude -= rest
    if (rest > half || (rest === half && (magnitude / unit) % 2n === 1n)) magnitude += unit
  }
  return negative ? -Number(magnitude) : Number(magnitude)
}

/** IEEE half bits, to nearest even. */
function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (magnitude >= 65520) return sign | 0x7c00
  // The unit of the last place: that of subnormals is 2^-24.
  const exponent = Math.max(-14, magnitude === 0 ? -14 : exponentOf(magnitude))
  const unit = 2 ** (exponent - 10)
  const rounded = nearestEven(magnitude / unit) // 1024…2048, or less for subnormals
  return sign | ((exponent + 14) * 1024 + rounded)
}

/** bfloat16 bits of a float32. */
function toBrain(value: number): number {
  const view = new DataView(new ArrayBuffer(4))
  view.setFloat32(0, value)
  const [upper, lower] = [view.getUint16(0), view.getUint16(2)]
  return upper + (lower > 0x8000 || (lower === 0x8000 && upper & 1) ? 1 : 0)
}

function exponentOf(magnitude: number): number {
  let exponent = Math.floor(Math.log2(magnitude))
  if (2 ** exponent > magnitude) exponent--
  if (2 ** (exponent + 1) <= magnitude) exponent++
  return exponent
}

function nearestEven(value: number): number {
  const whole = Math.floor(value)
  const rest = value - whole
  return rest > 0.5 || (rest === 0.5 && whole % 2 === 1) ? whole + 1 : whole
}

interface Nan {
  negative: boolean
  /** The fraction's bits, as those of a float64; the highest says that the NaN is quiet. */
  fraction: bigint
}

const QUIET = 1n << 51n

function nanIn(source: StoredDtype, from: DataView, at: number): Nan {
  switch (source) {
    case 'f16':
      return nan(BigInt(from.getUint16(at, true)), 16n, 10n)
    case 'bf16':
      return nan(BigInt(from.getUint16(at, true)), 16n, 7n)
    case 'f32':
      return nan(BigInt(from.getUint32(at, true)), 32n, 23n)
    default:
      return nan(from.getBigUint64(at, true), 64n, 52n)
  }
}

function nan(bits: bigint, width: bigint, fraction: bigint): Nan {
  return {
    negative: bits >> (width - 1n) === 1n,
    fraction: (bits & ((1n << fraction) - 1n)) << (52n - fraction),
  }
}

function putNan(
  { negative, fraction }: Nan,
  source: StoredDtype,
  target: Dtype,
  to: DataView,
  out: number,
): void {
  const sign = negative ? 1n : 0n
  if (target === 'bf16') to.setUint16(out, Number((sign << 15n) | 0x7fc0n), true)
  else if (target === 'f16' && source === 'bf16') to.setUint16(out, Number((sign << 15n) | 0x7e00n), true)
  else if (target === 'f16') {
    to.setUint16(out, Number((sign << 15n) | 0x7c00n | (fraction >> 42n || 1n)), true)
  } else if (target === 'f32') {
    const quiet = source === 'f64' ? fraction | QUIET : fraction // the processor's cast, and a shift of the bits
    to.setUint32(out, Number((sign << 31n) | 0x7f800000n | (quiet >> 29n)), true)
  } else {
    const quiet = source === 'f16' ? fraction : fraction | QUIET
    to.setBigUint64(out, (sign << 63n) | (0x7ffn << 52n) | quiet, true)
  }
}
