/**
 * A batch on the device: numeric fields are CudaArrays; text, and the columns that say which samples these are, were
 * copied out of the slot, which has long gone back to the makers. Its lifetime is that of a batch on the host.
 */

import { actualShape } from '../../core/batch/close.js'
import { Header, Slot } from '../../core/batch/slot.js'
import { Batch, type BatchOwner, defineFields, strings } from '../../core/deliver/node/batch.js'
import type { DeviceArray, DeviceRagged } from '../../core/deliver/node/device.js'
import { CudaArray, channelsFirst, type Download, stridesOf } from './array.js'
import type { OutputLayout } from './plan.js'

/** The part of a slot that stays on the host. */
export interface HostPart {
  /** Header and small columns. */
  slot: Slot
  /** Fields that vary in length, by name: length of each row. */
  lengths: ReadonlyMap<string, Int32Array>
  /** Text fields, by name. */
  texts: ReadonlyMap<string, { values: Uint8Array; offsets: Int32Array }>
}

/** Copies what stays on the host out of a closed slot: some kilobytes, and the text. */
export function hostPart(slot: Slot): HostPart {
  const { layout, buffer, at } = slot
  const count = slot.words[Header.Count]
  // The columns come before the fields (batch/layout.ts).
  const head = new ArrayBuffer(Math.ceil((layout.sourceAt + layout.rows * 4) / 8) * 8)
  new Uint8Array(head).set(new Uint8Array(buffer, at, head.byteLength))
  const lengths = new Map<string, Int32Array>()
  const texts = new Map<string, { values: Uint8Array; offsets: Int32Array }>()
  for (const [index, field] of layout.fields.entries()) {
    if (field.form === 'padded') lengths.set(field.name, slot.column(field.lengthAt, count).slice())
    if (field.form !== 'ragged' && field.form !== 'text') continue
    const offsets = slot.column(field.offsetsAt, count + 1).slice()
    lengths.set(
      field.name,
      Int32Array.from({ length: count }, (_, i) => offsets[i + 1] - offsets[i]),
    )
    if (field.form === 'ragged') continue
    const bytes = slot.words[Header.Cursor + index] * field.unitBytes
    texts.set(field.name, { values: new Uint8Array(buffer, at + field.at, bytes).slice(), offsets })
  }
  return { slot: new Slot(head, 0, layout), lengths, texts }
}

/** The place of a batch on the device. */
export interface OnDevice {
  output: number
  pointer: bigint
  layout: OutputLayout
  /** Fields whose channels come last in memory and first in the shape. */
  channelsLast: ReadonlySet<string>
  download: Download
}

type DeviceField = DeviceArray | DeviceRagged | string[]
type AnyDeviceFields = Record<string, DeviceField>

export class DeviceBatch<Fields = AnyDeviceFields> extends Batch<Fields> {
  // Hard-private: a field of the feed's may have any of these names.
  readonly #host: HostPart
  readonly #there: OnDevice

  constructor(owner: BatchOwner, host: HostPart, there: OnDevice) {
    super(owner, there.output, host.slot, { buffer: host.slot.buffer as ArrayBuffer, at: 0 })
    this.#host = host
    this.#there = there
  }

  override get<Name extends keyof Fields & string>(name: Name): Fields[Name] {
    return this.#field(name) as Fields[Name]
  }

  #field(name: string): DeviceField {
    const [field] = this.place(name)
    const text = this.#host.texts.get(name)
    if (text !== undefined) return strings(text.values, text.offsets)
    const { layout, channelsLast } = this.#there
    const { dtype, at, offsetsAt } = layout.places.find(place => place.field.name === name)!
    const values = this.#view(at, dtype, this.#memoryShape(name), channelsLast.has(name))
    if (field.form !== 'ragged') return values
    return { values, offsets: this.#view(offsetsAt, 'i32', [this.count + 1], false) }
  }

  override shape(name: keyof Fields & string): number[] {
    const shape = this.#memoryShape(name)
    return this.#there.channelsLast.has(name) ? channelsFirst(shape).shape : shape
  }

  override lengths(name: keyof Fields & string): Int32Array {
    this.place(name)
    return this.#host.lengths.get(name) ?? new Int32Array(this.count).fill(1)
  }

  #memoryShape(name: string): number[] {
    const [field, index] = this.place(name)
    return field.device === undefined
      ? actualShape(this.slot, this.slot.layout, index)
      : [this.count, ...field.device.shape]
  }

  #view(at: number, dtype: DeviceArray['dtype'], shape: number[], last: boolean): DeviceArray {
    const { pointer, download } = this.#there
    const seen = last ? channelsFirst(shape) : { shape, strides: stridesOf(shape) }
    const checked: Download = (from, bytes) => {
      this.check()
      return download(from, bytes)
    }
    return new CudaArray(pointer + BigInt(at), dtype, seen.shape, seen.strides, checked)
  }
}

/** A class of such batches with one property a field. */
export function deviceBatchClass(fields: readonly string[]): typeof DeviceBatch<AnyDeviceFields> {
  class FeedBatch extends DeviceBatch<AnyDeviceFields> {}
  defineFields(FeedBatch.prototype, fields)
  return FeedBatch
}
