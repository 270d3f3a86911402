/**
 * A batch in the hands of a Node program: typed arrays on the slot itself, no copy. It lives until the next one is
 * asked for, or, after `keep()`, until `release()`. Its arrays are detached before makers fill its memory anew, so that
 * nothing else can be mistaken for it.
 */
import { inspect } from 'node:util'
import { DTYPES, elements, type TypedArray } from '../../basics/dtype.js'
import { MillraceError } from '../../basics/errors.js'
import { actualShape } from '../../batch/close.js'
import type { FieldPlace } from '../../batch/layout.js'
import { Header, RowStatus, type Slot, Stamp } from '../../batch/slot.js'
import { mapOver, newMemory, type SharedRegion, vacate } from '../../system/memory/memory.js'

/** Values of all rows one after the other; row i is values[offsets[i]…offsets[i+1]]. */
export interface Ragged {
  values: TypedArray
  offsets: Int32Array
}

export type FieldArray = TypedArray | Ragged | string[]

/** Fields of which only the names' kind is known: any name, any array. */
export type AnyFields = Record<string, FieldArray>

/** What a batch sees of its slot: the buffer, and where in it the slot begins. */
export interface Window {
  readonly buffer: ArrayBuffer
  readonly at: number
}

/** A window whose views can be taken back, so that none of them ever shows another batch. */
export interface SlotView extends Window {
  detach(): void
  close(): void
}

/** A slot, seen through a memory of the consumer's own, whose views can be taken back all at once. */
export class SlotWindow implements SlotView {
  readonly at = 0
  private readonly memory: WebAssembly.Memory
  /** Whether there may be views of it. */
  private seen = false

  constructor(region: SharedRegion, offset: number, bytes: number) {
    this.memory = newMemory(bytes)
    mapOver(this.memory, region, offset, bytes)
  }

  get buffer(): ArrayBuffer {
    this.seen = true
    return this.memory.buffer
  }

  /** Takes every view back. Growing by nothing gives the memory a new buffer over the same bytes. */
  detach(): void {
    if (this.seen) this.memory.grow(0)
    this.seen = false
  }

  close(): void {
    this.detach()
    vacate(this.memory)
  }
}

/** What a batch asks of the loader that gave it. */
export interface BatchOwner {
  /** Whether it was closed: then its memory is given back, also under batches that the program still holds. */
  closed(): boolean
  /** The name of a sample in a slot. */
  id(slot: Slot, row: number): string
  /** Takes the arrays of the batch back, and gives its slot to the makers. */
  release(slot: number): void
}

const RELEASED =
  'this batch has been released: its memory belongs to another one now. ' +
  'Call keep() before asking for the next batch, or copy what you need'

const gone = new Map<object, object>()

/**
 * What arrays of a released batch inherit from in place of their own: whatever is asked of it by name throws, `length` first of all. Elements
 * are not asked for by name: of a detached array V8 gives undefined.
 */
function goneLike(own: object): object {
  let proxy = gone.get(own)
  if (proxy === undefined) {
    const get = (from: object, name: string | symbol): unknown => {
      // Of what is printed or awaited.
      if ((typeof name === 'symbol' && name !== Symbol.iterator) || name === 'constructor' || name === 'then')
        return typeof name === 'symbol' ? undefined : Reflect.get(from, name)
      throw new MillraceError(RELEASED)
    }
    gone.set(own, (proxy = new Proxy(Object.create(own) as object, { get })))
  }
  return proxy
}

/** `Fields` says what each field is: typed arrays, or arrays on a device. */
export class Batch<Fields = AnyFields> {
  readonly epoch: number
  /** Step within the epoch. */
  readonly step: number
  /** Position in the epoch at which the step begins, over all ranks. */
  readonly position: number
  /** Rows in this batch. */
  readonly count: number
  private kept = false
  private released = false
  private readonly given: TypedArray[] = []

  constructor(
    private readonly owner: BatchOwner,
    /** Number of the slot it lies in. */
    readonly slotIndex: number,
    protected readonly slot: Slot,
    private readonly window: Window,
  ) {
    this.epoch = slot.stamps[Stamp.Epoch]
    this.step = slot.stamps[Stamp.Step]
    this.position = slot.stamps[Stamp.Position]
    this.count = slot.words[Header.Count]
  }

  /** The array of a field: typed array, ragged values with offsets, or strings. */
  get<Name extends keyof Fields & string>(name: Name): Fields[Name] {
    const [field, index] = this.place(name)
    if (field.form === 'dense' || field.form === 'padded')
      return this.array(field, elements(this.shape(name))) as Fields[Name]
    const offsets = this.column(field.offsetsAt, this.count + 1)
    const values = this.array(field, this.slot.words[Header.Cursor + index] * elements(field.shape))
    const found: FieldArray =
      field.form === 'ragged' ? { values, offsets } : strings(values as Uint8Array, offsets)
    return found as Fields[Name]
  }

  /** Shape of a field in this batch: [rows, …], for ragged fields [all lengths together, …]. */
  shape(name: keyof Fields & string): number[] {
    const [, index] = this.place(name)
    return actualShape(this.slot, this.slot.layout, index)
  }

  /** Length of each row of a field that varies in length. */
  lengths(name: keyof Fields & string): Int32Array {
    const [field] = this.place(name)
    if (field.lengthAt < 0) return new Int32Array(this.count).fill(1)
    if (field.form === 'padded') return this.column(field.lengthAt, this.count)
    const offsets = this.column(field.offsetsAt, this.count + 1)
    return Int32Array.from({ length: this.count }, (_, i) => offsets[i + 1] - offsets[i])
  }

  /** Stable names of the samples, without fillers. */
  get ids(): string[] {
    this.check()
    const ids: string[] = []
    for (let i = 0; i < this.count; i++) {
      if (this.slot.status[i] !== RowStatus.Filler) ids.push(this.owner.id(this.slot, i))
    }
    return ids
  }

  /** Position of each row in the epoch. */
  get positions(): Float64Array {
    this.check()
    const { buffer, at } = this.window
    return new Float64Array(buffer, at + this.slot.layout.positionAt, this.count)
  }

  /** 1 for each row that is a sample, 0 for fillers (`last: pad`) and masked rows (`onError: mask`). */
  get valid(): Uint8Array {
    this.check()
    return Uint8Array.from({ length: this.count }, (_, i) => (this.slot.status[i] === RowStatus.Good ? 1 : 0))
  }

  /** How many rows are samples: all but the fillers of `last: pad`. */
  get samples(): number {
    this.check()
    let samples = 0
    for (let i = 0; i < this.count; i++) if (this.slot.status[i] !== RowStatus.Filler) samples++
    return samples
  }

  /** What `console.log` shows: the fields and their shapes, not where they lie. */
  [inspect.custom](): string {
    const { epoch, step, count } = this
    const fields = this.slot.layout.fields.map(
      ({ name, dtype, device }) =>
        `${name}: ${device?.dtype ?? dtype} [${this.shape(name as keyof Fields & string).join(', ')}]`,
    )
    return `Batch { epoch ${epoch}, step ${step}, ${count} rows; ${fields.join('; ')} }`
  }

  /** Keeps the batch alive beyond the next one, until `release()`. */
  keep(): this {
    this.check()
    this.kept = true
    return this
  }

  get isKept(): boolean {
    return this.kept
  }

  /** Gives the slot back. The arrays of this batch can't be used from now on. */
  release(): void {
    if (this.released || this.owner.closed()) return
    this.released = true
    for (const array of this.given) Object.setPrototypeOf(array, goneLike(Object.getPrototypeOf(array)))
    this.given.length = 0
    this.owner.release(this.slotIndex)
  }

  protected place(name: string): [FieldPlace, number] {
    this.check()
    const index = this.slot.layout.fields.findIndex(field => field.name === name)
    if (index < 0) throw new MillraceError(`the batch has no field "${name}"`)
    return [this.slot.layout.fields[index], index]
  }

  private array(field: FieldPlace, length: number): TypedArray {
    const { buffer, at } = this.window
    return this.give(new DTYPES[field.dtype].array(buffer, at + field.at, length))
  }

  private column(from: number, length: number): Int32Array {
    const { buffer, at } = this.window
    return this.give(new Int32Array(buffer, at + from, length))
  }

  private give<A extends TypedArray>(array: A): A {
    this.given.push(array)
    return array
  }

  protected check(): void {
    if (this.owner.closed()) throw new MillraceError('this batch is gone: its loader has been closed')
    if (this.released) throw new MillraceError(RELEASED)
  }
}

/** A class of batches with one property a field, so that `batch.image` is what it looks like. */
export function batchClass(fields: readonly string[]): typeof Batch<AnyFields> {
  class FeedBatch extends Batch<AnyFields> {}
  defineFields(FeedBatch.prototype, fields)
  return FeedBatch
}

export function defineFields(prototype: Batch<Record<string, unknown>>, fields: readonly string[]): void {
  for (const name of fields) {
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get(this: Batch<Record<string, unknown>>) {
        return this.get(name)
      },
    })
  }
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true }) // a leading U+FEFF stays, as in Python

export function strings(values: Uint8Array, offsets: Int32Array): string[] {
  return Array.from({ length: offsets.length - 1 }, (_, i) =>
    utf8.decode(values.subarray(offsets[i], offsets[i + 1])),
  )
}
