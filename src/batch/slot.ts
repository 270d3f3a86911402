/** A slot as seen by whoever holds the memory: header words, and the small columns with one entry a row. */
import type { SlotLayout } from './layout.js'

/** What became of a row. */
export const RowStatus = {
  Empty: 0,
  Good: 1,
  Bad: 2,
  /** A repeat that fills up the last batch (`last: pad`): there, but not valid. */
  Filler: 3,
} as const

/** Words of the header, as 32-bit integers. */
export const Header = {
  /** Chunks of rows not yet made; whoever takes it to zero closes the batch. */
  Remaining: 0,
  /** Rows planned for this batch. */
  Planned: 1,
  /** Of those, how many are real: the rest repeat the epoch's beginning (`last: pad`). */
  Valid: 5,
  /** Rows delivered: known after closing, without the dropped ones. */
  Count: 2,
  /** Bad rows found. */
  Bad: 3,
  /** 1 when closed and ready. */
  Ready: 4,
  /** Low bits of the batch's number + 1, from its opening until it is given back. */
  Batch: 6,
  /** Chunk + 1 of whoever closes the batch; from PASS on, how often it was begun again, since that one had died. */
  Closer: 7,
  /** Of a padded or ragged field, by its number: the actual length (padded) or the staging cursor (ragged). */
  Cursor: 8,
} as const

/** Bits of the word `Closer` below the number of passes. */
export const PASS = 16

/** Words of the header, as 64-bit floats. */
export const Stamp = {
  /** Where a run goes on after this batch. */
  NextEpoch: 26,
  NextPosition: 27,
  Epoch: 28,
  /** Step within the epoch. */
  Step: 29,
  /** Position at which the step begins, over all ranks. */
  Position: 30,
  /** When the batch was completed: CLOCK_MONOTONIC in seconds, which all processes of the host share. */
  Completed: 31,
} as const

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

  constructor(
    readonly buffer: ArrayBufferLike,
    /** Byte offset of the slot in the buffer. */
    readonly at: number,
    readonly layout: SlotLayout,
  ) {
    const n = layout.rows
    this.words = new Int32Array(buffer, at, 64)
    this.stamps = new Float64Array(buffer, at, 32)
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
    this.words[Header.Remaining] = this.layout.chunks
  }

  /** A column of 32-bit integers, one a row. */
  column(at: number, length = this.layout.rows): Int32Array {
    return new Int32Array(this.buffer, this.at + at, length)
  }
}
