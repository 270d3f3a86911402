/** Elements of a batch as numbers, in any dtype. */
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'

type Reader = (view: DataView, at: number) => number

const READERS: Readonly<Record<Dtype, Reader>> = {
  u8: (view, at) => view.getUint8(at),
  i8: (view, at) => view.getInt8(at),
  u16: (view, at) => view.getUint16(at, true),
  i16: (view, at) => view.getInt16(at, true),
  i32: (view, at) => view.getInt32(at, true),
  u32: (view, at) => view.getUint32(at, true),
  i64: (view, at) => Number(view.getBigInt64(at, true)),
  f16: (view, at) => halfOf(view.getUint16(at, true)),
  bf16: (view, at) => bf16Of(view.getUint16(at, true)),
  f32: (view, at) => view.getFloat32(at, true),
  f64: (view, at) => view.getFloat64(at, true),
  bool: (view, at) => view.getUint8(at),
}

/** Elements as they lie in bytes. */
export class Elements {
  readonly length: number
  private readonly view: DataView
  private readonly read: Reader
  private readonly size: number

  constructor(bytes: Uint8Array, dtype: Dtype) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.read = READERS[dtype]
    this.size = DTYPES[dtype].bytes
    this.length = Math.floor(bytes.byteLength / this.size)
  }

  at(index: number): number {
    return this.read(this.view, index * this.size)
  }
}

const bits = new Uint32Array(1)
const float = new Float32Array(bits.buffer)

function bf16Of(half: number): number {
  bits[0] = half << 16
  return float[0]
}

/** The number that IEEE half bits mean. */
function halfOf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >> 10) & 31
  const fraction = half & 1023
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
