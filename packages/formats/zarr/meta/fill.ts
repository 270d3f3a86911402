/** The value of elements whose chunk is not there: as the metadata writes it, and as bytes, little-endian. */

import type { StoredDtype } from '../../../core/basics/array.js'
import { toBf16, toF16 } from '../../../core/basics/dtype.js'
import { type Element, shown } from './element.js'
import { ZarrFault } from './fault.js'

/** The bytes of one element. `null` and nothing are zeros, as zarr-python has them. */
export function fillBytes(fill: unknown, element: Element, version: 2 | 3): Uint8Array {
  const { form, dtype, bytes } = element
  const out = Buffer.alloc(bytes)
  if (fill === null || fill === undefined) return new Uint8Array(out)
  if (form === 'vlen-text' || form === 'vlen-bytes') return vlenFill(fill)
  if (form === 'ascii') fillText(out, fill)
  else if (form === 'utf32') fillWide(out, fill)
  else if (form === 'complex') {
    const base64 = version === 2 && typeof fill === 'string' ? Buffer.from(fill, 'base64') : undefined
    if (base64?.length === bytes) out.set(littleEndian(base64, bytes / 2, element.bigEndian))
    else {
      const [real, imaginary] = Array.isArray(fill) ? fill : [fill, 0]
      writeNumber(out, 0, dtype, real)
      writeNumber(out, bytes / 2, dtype, imaginary)
    }
  } else writeNumber(out, 0, dtype, fill)
  return new Uint8Array(out)
}

/** Text, or numbers of bytes; in Zarr 2 a text may also be 0. */
function vlenFill(fill: unknown): Uint8Array {
  if (Array.isArray(fill)) return Uint8Array.from(fill as number[])
  return new Uint8Array(Buffer.from(typeof fill === 'string' ? fill : ''))
}

/** Fixed texts of bytes are written as base64. */
function fillText(out: Buffer, fill: unknown): void {
  const bytes = typeof fill === 'string' ? Buffer.from(fill, 'base64') : Buffer.alloc(0)
  bytes.copy(out, 0, 0, Math.min(bytes.length, out.length))
}

function fillWide(out: Buffer, fill: unknown): void {
  const codes = Array.from(typeof fill === 'string' ? fill : '', c => c.codePointAt(0) as number)
  for (let i = 0; i < Math.min(codes.length, out.length / 4); i++) out.writeUInt32LE(codes[i], 4 * i)
}

function littleEndian(bytes: Buffer, size: number, bigEndian: boolean): Buffer {
  if (bigEndian) for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse()
  return bytes
}

const WRITERS: Readonly<Record<StoredDtype, (out: Buffer, at: number, value: number | bigint) => void>> = {
  bool: (out, at, value) => out.writeUInt8(Number(value) === 0 ? 0 : 1, at),
  u8: (out, at, value) => out.writeUInt8(Number(value), at),
  i8: (out, at, value) => out.writeInt8(Number(value), at),
  u16: (out, at, value) => out.writeUInt16LE(Number(value), at),
  i16: (out, at, value) => out.writeInt16LE(Number(value), at),
  u32: (out, at, value) => out.writeUInt32LE(Number(value), at),
  i32: (out, at, value) => out.writeInt32LE(Number(value), at),
  u64: (out, at, value) => out.writeBigUInt64LE(BigInt(value), at),
  i64: (out, at, value) => out.writeBigInt64LE(BigInt(value), at),
  f16: (out, at, value) => out.writeUInt16LE(toF16(Number(value)), at),
  bf16: (out, at, value) => out.writeUInt16LE(toBf16(Number(value)), at),
  f32: (out, at, value) => out.writeFloatLE(Number(value), at),
  f64: (out, at, value) => out.writeDoubleLE(Number(value), at),
}

const NAMED: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/** A number, `true`, `"NaN"`, `"-Infinity"`, or the bits as `"0x7fc00000"`, the most significant first. */
function writeNumber(out: Buffer, at: number, dtype: StoredDtype, fill: unknown): void {
  try {
    if (typeof fill === 'string' && /^0x([0-9a-f]{2})+$/i.test(fill)) {
      const bits = Buffer.from(fill.slice(2), 'hex').reverse()
      if (at + bits.length > out.length) throw new Error('too many bits')
      bits.copy(out, at)
      return
    }
    const isFloat = dtype[0] === 'f' || dtype === 'bf16'
    const named = typeof fill === 'string' && isFloat ? NAMED[fill] : undefined
    if (fill === 'NaT' && dtype === 'i64') WRITERS.i64(out, at, -(2n ** 63n))
    else if (named !== undefined) WRITERS[dtype](out, at, named)
    else if (typeof fill === 'boolean') WRITERS[dtype](out, at, fill ? 1 : 0)
    else if (typeof fill === 'number') WRITERS[dtype](out, at, fill)
    else if (typeof fill === 'string' && /^-?\d+$/.test(fill)) WRITERS[dtype](out, at, BigInt(fill))
    else throw new Error('no number')
  } catch {
    throw new ZarrFault(`its fill_value ${shown(fill)} is no ${dtype}`)
  }
}
