/**
 * Who makes a field, and how the field lies in the slot because of that. The definition says neither: both are part of a
 * job. engine/plan/making.ts computes them from the definition and from who decodes.
 */
import type { Dtype } from '../basics/dtype.js'
import type { DeviceGenerated, FieldLayout } from './types.js'

/** Who makes a field: the worker finishes it, or leaves it for the device. */
export type FieldMaking =
  | { by: 'worker' }
  | PictureForDevice
  | { by: 'device'; kind: Exclude<DeviceKind, 'picture'> }

/** What a device makes: it decodes pictures, decompresses arrays, and generates fields out of nothing. */
export type DeviceKind = SlotDevice['kind']

/** Pictures that the device decodes and transforms. */
export interface PictureForDevice extends PictureShare {
  by: 'device'
  kind: 'picture'
}

/** Which pictures of such a field the worker decodes all the same. */
export interface PictureShare {
  /** This share of them, 0…1: what the device can't do in time. */
  cpuShare: number
  /** JPEGs of other samplings than these (decode/picture/jpeg-header.ts); where it is left out, the device gets all samplings. */
  samplings?: readonly number[]
}

export const BY_WORKER: FieldMaking = { by: 'worker' }

/** How a field lies in a slot: as the definition has it, or as bytes for the device that finishes it. */
export interface SlotField extends Omit<FieldLayout, 'device'> {
  /** The field is finished on the device: what it becomes there. */
  device?: SlotDevice
  /** The parts of a row that are delivered, where it is cut along its first axis. */
  windows?: readonly RowWindow[]
}

/** Elements `from` to `to` − 1 of a row, which lie in the slot from element `at` on. */
export interface RowWindow {
  from: number
  to: number
  at: number
}

export type SlotDevice = DevicePicture | DeviceGenerated | DeviceCompressed

/**
 * A picture that is decoded and transformed on the device. In the slot a row of it is a parameter row of `words`
 * 32-bit words, followed by the picture's bytes (transform/device/parameter-row.ts).
 */
export interface DevicePicture {
  kind: 'picture'
  words: number
  /** The finished tensor. */
  dtype: Dtype
  shape: number[]
  layout: 'chw' | 'hwc'
  width: number
  height: number
  /** What each byte becomes: 3 × 256 elements, in base64. */
  lookup: string
  /** Operators of the batch that mix it. */
  mixes: number
}

/**
 * An array that is decompressed on the device. In the slot a row of it is a head of `headBytes`, followed by the
 * compressed bytes, or by the elements themselves (transform/device/array.ts).
 */
export interface DeviceCompressed {
  kind: 'compressed'
  codec: DeviceCodec
  dtype: Dtype
  /** Of one row. */
  shape: number[]
  headBytes: number
}

/** What a device decompresses: zlib and gzip lose their header and checksum on the way, LZ4 its frame. */
export type DeviceCodec = 'zstd' | 'lz4' | 'deflate'
