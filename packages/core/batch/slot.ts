/** Views of one slot: header words, and the small columns with one entry a row. */
import type { SlotLayout } from './layout.js'
import { HEADER_BYTES, RowStatus } from './slot-words.js'

export { Header, OF_BATCH, PASS, RowStatus, Stamp } from './slot-words.js'

/** Views of one slot. Cheap; made once per slot and thread. */
export class Slot {
  readonly words: Int32Array
  readonly stamps: Float64Array
  readonly status: Uint8Array
  readonly positions: Float64Array
  readonly rows: Float64Array
  readonly sources: Int32Array
  /** One word a chunk: 1 when its rows are made. */
  readonly done: Int32Array
  /** Columns that were asked for, by where they lie: a new view for every row would cost as much as a short row. */
  private readonly columns = new Map<number, Int32Array>()

  constructor(
    readonly buffer: ArrayBufferLike,
    /** Byte offset of the slot in the buffer. */
    readonly at: number,
    readonly layout: SlotLayout,
  ) {
    const n = layout.rows
    this.words = new Int32Array(buffer, at, HEADER_BYTES / 4)
    this.stamps = new Float64Array(buffer, at, HEADER_BYTES / 8)
    this.status = new Uint8Array(buffer, at + layout.statusAt, n)
    this.positions = new Float64Array(buffer, at + layout.positionAt, n)
    this.rows = new Float64Array(buffer, at + layout.rowAt, n)
    this.sources = new Int32Array(buffer, at + layout.sourceAt, n)
    this.done = new Int32Array(buffer, at + layout.doneAt, layout.chunks)
  }

  /** Empties the slot for a new batch. */
  clear(): void {
    this.words.fill(0)
    this.done.fill(0)
    this.status.fill(RowStatus.Empty)
    for (const field of this.layout.fields) if (field.placeAt >= 0) this.column(field.placeAt).fill(0)
  }

  /** A column of 32-bit integers, one a row. */
  column(at: number, length = this.layout.rows): Int32Array {
    let column = this.columns.get(at)
    if (column?.length !== length) {
      column = new Int32Array(this.buffer, this.at + at, length)
      this.columns.set(at, column)
    }
    return column
  }
}
