/**
 * The arithmetic of the device stage, as plain data: where each field lies in the device's buffer of a batch, and how
 * the pictures of a batch are cut into parts that fit the scratch memory. Nothing here touches a GPU.
 */

import { DTYPES, type Dtype, elements } from '../../core/basics/dtype.js'
import { MillraceError } from '../../core/basics/errors.js'
import type { FieldPlace, SlotLayout } from '../../core/batch/layout.js'
import type { DeviceCompressed, DevicePicture } from '../../core/define/making.js'
import { Form, HEADER_WORDS, Word } from '../../pixels/transform/device/parameter-words.js'
import { DEVICE_ALIGN } from './facts.js'

/** The number of an element type in the kernels. */
export function dtypeCode(dtype: Dtype): number {
  const { kernel: code } = DTYPES[dtype]
  if (code === undefined) throw new MillraceError(`no kernel makes elements of type ${dtype}`)
  return code
}

/** A field's place in the device's buffer of a batch: byte offsets. */
export interface OutputPlace {
  /** Its number in the slot's layout. */
  index: number
  field: FieldPlace
  /** Its form once finished on the device, if it is finished there. */
  picture: DevicePicture | undefined
  compressed: DeviceCompressed | undefined
  dtype: Dtype
  at: number
  bytes: number
  /** Ragged fields: the offsets, i32[rows + 1]. */
  offsetsAt: number
}

export interface OutputLayout {
  places: OutputPlace[]
  bytes: number
}

/** Room for the largest batch. Text stays on the host. */
export function layoutOutput({ fields, rows }: SlotLayout): OutputLayout {
  let next = 0
  const take = (bytes: number): number => {
    const at = next
    next += up(bytes)
    return at
  }
  const places: OutputPlace[] = []
  for (const [index, field] of fields.entries()) {
    if (field.form === 'text') continue
    const { device } = field
    const bytes = device === undefined ? field.bytes : rows * rowBytes(device)
    places.push({
      index,
      field,
      picture: device?.kind === 'picture' ? device : undefined,
      compressed: device?.kind === 'compressed' ? device : undefined,
      dtype: device?.dtype ?? field.dtype,
      bytes,
      at: take(bytes),
      offsetsAt: field.form === 'ragged' ? take((rows + 1) * 4) : -1,
    })
  }
  return { places, bytes: next }
}

/** Bytes of one finished row. */
export function rowBytes({ shape, dtype }: { shape: readonly number[]; dtype: Dtype }): number {
  return elements(shape) * DTYPES[dtype].bytes
}

export function up(bytes: number): number {
  return Math.ceil(bytes / DEVICE_ALIGN) * DEVICE_ALIGN
}

/** One row's picture: which form it has, how many bytes, and how many it takes decoded. */
export interface PictureRow {
  row: number
  form: number
  /** The sampling of a JPEG's chroma. */
  sampling: number
  bytes: number
  width: number
  decodedBytes: number
  /** Its byte offset in the part's scratch memory. */
  at: number
}

/** Consecutive rows that are decoded and finished together. */
export interface PicturePart {
  from: number
  to: number
  /** Those that have a picture. */
  pictures: PictureRow[]
  decodedBytes: number
}

export interface PicturePlan {
  parts: PicturePart[]
  /** The largest decoded part. */
  decodedBytes: number
  /** Maxima over all rows, in whole units: what one block of the kernel needs. */
  pictureBytes: number
  tableBytes: number
  /** Which of the two mixes are to be done. */
  mixes: number[]
}

/**
 * Reads the headers of a batch's parameter rows and cuts it into parts whose decoded pictures fit into `budget` bytes.
 * A picture that is larger than that by itself is a part of its own.
 */
export function planPictures(
  header: (row: number) => Int32Array,
  count: number,
  budget: number,
): PicturePlan {
  const plan: PicturePlan = {
    parts: [],
    decodedBytes: 0,
    pictureBytes: 0,
    tableBytes: 0,
    mixes: count === 0 ? [] : mixesOf(header(0)),
  }
  let part: PicturePart | undefined
  for (let row = 0; row < count; row++) {
    const words = header(row)
    const form = words[Word.Form]
    const width = words[Word.StoredWidth]
    const decodedBytes = form === Form.Nothing ? 0 : width * words[Word.StoredHeight] * 3
    if (part === undefined || (part.decodedBytes > 0 && part.decodedBytes + up(decodedBytes) > budget)) {
      part = { from: row, to: row, pictures: [], decodedBytes: 0 }
      plan.parts.push(part)
    }
    if (form !== Form.Nothing) {
      const { decodedBytes: at } = part
      const { [Word.Bytes]: bytes, [Word.Sampling]: sampling } = words
      part.pictures.push({ row, form, sampling, bytes, width, decodedBytes, at })
    }
    part.decodedBytes += up(decodedBytes)
    part.to = row + 1
    plan.decodedBytes = Math.max(plan.decodedBytes, part.decodedBytes)
    plan.pictureBytes = Math.max(plan.pictureBytes, up(words[Word.PictureBytes]))
    plan.tableBytes = Math.max(plan.tableBytes, up(words[Word.TableBytes]))
  }
  return plan
}

/** The words of a row's header in the slot. */
export function headerAt(
  buffer: ArrayBufferLike,
  fieldAt: number,
  unitBytes: number,
): (row: number) => Int32Array {
  return row => new Int32Array(buffer, fieldAt + row * unitBytes, HEADER_WORDS)
}

function mixesOf(header: Int32Array): number[] {
  return Array.from({ length: header[Word.Mixes] }, (_, i) => i)
}
