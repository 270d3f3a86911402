/** Arguments as C lays them out in memory (x64 and arm64, little-endian). Pure functions over bytes. */
import { MemoryType } from './numbers.js'

/** An argument of a kernel. A plain number is an `int`; a bigint is a pointer or an unsigned 64-bit integer. */
export type KernelArgument =
  | bigint
  | number
  | { readonly devicePointer: bigint }
  | { readonly f32: number }
  | { readonly f64: number }
  | { readonly u32: number }
  | { readonly i64: bigint }
  /** A struct, passed by value. */
  | Uint8Array

const POINTER = 8
/** Every value starts at a multiple of this: enough for any type, also for structs of vectors. */
const ALIGN = 16

/** Bytes that `writeArguments` needs. */
export function argumentBytes(args: readonly KernelArgument[]): number {
  let bytes = roundUp(args.length * POINTER, ALIGN)
  for (const arg of args) bytes += roundUp(arg instanceof Uint8Array ? arg.length : POINTER, ALIGN)
  return bytes
}

/**
 * The arguments of a kernel, for cuLaunchKernel: a table of pointers, then the values that they point to. `address` is
 * where `into` lies in memory.
 */
export function writeArguments(args: readonly KernelArgument[], into: Uint8Array, address: bigint): void {
  const view = new DataView(into.buffer, into.byteOffset, into.byteLength)
  let at = roundUp(args.length * POINTER, ALIGN)
  for (const [i, arg] of args.entries()) {
    view.setBigUint64(i * POINTER, address + BigInt(at), true)
    if (arg instanceof Uint8Array) into.set(arg, at)
    else writeScalar(view, at, arg, i)
    at += roundUp(arg instanceof Uint8Array ? arg.length : POINTER, ALIGN)
  }
}

function writeScalar(
  view: DataView,
  at: number,
  arg: Exclude<KernelArgument, Uint8Array>,
  index: number,
): void {
  if (typeof arg === 'bigint') view.setBigUint64(at, BigInt.asUintN(64, arg), true)
  else if (typeof arg === 'number') {
    if (!Number.isInteger(arg) || arg !== (arg | 0)) {
      throw new RangeError(
        `argument ${index} of the kernel, ${arg}, is no int: write { f32: … }, { f64: … } or { u32: … }, or a bigint`,
      )
    }
    view.setInt32(at, arg, true)
  } else if ('devicePointer' in arg) view.setBigUint64(at, arg.devicePointer, true)
  else if ('f32' in arg) view.setFloat32(at, arg.f32, true)
  else if ('f64' in arg) view.setFloat64(at, arg.f64, true)
  else if ('u32' in arg) view.setUint32(at, arg.u32, true)
  else view.setBigInt64(at, arg.i64, true)
}

/** A copy of `height` lines of `width` bytes between host and device memory, whose lines lie `…Pitch` bytes apart. */
export interface Copy2D {
  from: bigint
  fromPitch: number
  to: bigint
  toPitch: number
  width: number
  height: number
}

export const COPY_2D_BYTES = 128

/**
 * CUDA_MEMCPY2D from the host to the device:
 *
 *    0 srcXInBytes   8 srcY   16 srcMemoryType (u32)  24 srcHost  32 srcDevice  40 srcArray  48 srcPitch
 *   56 dstXInBytes  64 dstY   72 dstMemoryType (u32)  80 dstHost  88 dstDevice  96 dstArray 104 dstPitch
 *  112 WidthInBytes 120 Height
 */
export function writeUpload2D(copy: Copy2D, into: Uint8Array): void {
  into.fill(0, 0, COPY_2D_BYTES)
  const view = new DataView(into.buffer, into.byteOffset, COPY_2D_BYTES)
  const size = (at: number, value: number) => view.setBigUint64(at, BigInt(value), true)
  view.setUint32(16, MemoryType.Host, true)
  view.setBigUint64(24, copy.from, true)
  size(48, copy.fromPitch)
  view.setUint32(72, MemoryType.Device, true)
  view.setBigUint64(88, copy.to, true)
  size(104, copy.toPitch)
  size(112, copy.width)
  size(120, copy.height)
}

/** One picture to decode: JPEG bytes at a host address, interleaved RGB to a device address, lines without gaps. */
export interface JpegPicture {
  from: bigint
  bytes: number
  to: bigint
  width: number
  /** The sampling of its chroma: each kind has a state of its own in nvJPEG. */
  sampling: number
}

/** nvjpegImage_t: four channel pointers, then four pitches. Interleaved output uses the first of each. */
const IMAGE_BYTES = 64

/** The three arrays of nvjpegDecodeBatched: bitstreams, their lengths, and where the pictures go. */
export interface DecodeArrays {
  data: Uint8Array
  lengths: Uint8Array
  images: Uint8Array
}

export function decodeArrays(capacity: number): DecodeArrays {
  return {
    data: new Uint8Array(capacity * POINTER),
    lengths: new Uint8Array(capacity * POINTER),
    images: new Uint8Array(capacity * IMAGE_BYTES),
  }
}

export function writeDecodeArrays(pictures: readonly JpegPicture[], into: DecodeArrays): void {
  const data = viewOf(into.data)
  const lengths = viewOf(into.lengths)
  const images = viewOf(into.images)
  into.images.fill(0, 0, pictures.length * IMAGE_BYTES)
  for (const [i, { from, bytes, to, width }] of pictures.entries()) {
    data.setBigUint64(i * POINTER, from, true)
    lengths.setBigUint64(i * POINTER, BigInt(bytes), true)
    images.setBigUint64(i * IMAGE_BYTES, to, true)
    images.setBigUint64(i * IMAGE_BYTES + 4 * POINTER, BigInt(width * 3), true)
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple
}
