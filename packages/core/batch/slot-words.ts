/**
 * What lies where in the header of a slot. Python's copy (python/millrace/_generated/) and the table in docs/protocol.md
 * are generated from this file: npm run generate.
 */

/** Bytes of the header. */
export const HEADER_BYTES = 256

/** Fields of a feed at most: the header has a word `Cursor` for each. */
export const MAX_FIELDS = 44

/** Words of the header, as 32-bit integers. */
export const Header = {
  /** Rows planned for this batch. */
  Planned: 1,
  /** Rows in this batch: known after closing, without the dropped ones. */
  Count: 2,
  /** Bad rows found. */
  Bad: 3,
  /** 1 when closed and ready. */
  Ready: 4,
  /** Of the planned rows, how many are real: the rest repeat the epoch's beginning (`last: pad`). */
  Valid: 5,
  /** Low bits of the batch's number + 1, from its opening until it is given back. */
  Batch: 6,
  /**
   * Chunk + 1 whose worker closes the batch, once all chunks are made; from bit PASS on, how often the batch was begun again after
   * a closer died (8 bits); from bit OF_BATCH on, low bits of the batch's number, so that a worker that was slow to look does not
   * close a later batch of the slot.
   */
  Closer: 7,
  /** Of field f: the actual length of the padded axis, or of all ragged rows together. */
  Cursor: 8,
} as const

/** Bits of the word `Closer` below the number of passes, and below those of the batch. */
export const PASS = 12
export const OF_BATCH = 20

/** Words of the header, as 64-bit floats. */
export const Stamp = {
  /** Epoch at which a run goes on after this batch. */
  NextEpoch: 26,
  /** Position at which it goes on. */
  NextPosition: 27,
  /** Epoch of this batch. */
  Epoch: 28,
  /** Step within the epoch. */
  Step: 29,
  /** Position in the epoch at which the step begins, over all ranks. */
  Position: 30,
  /** CLOCK_MONOTONIC, in seconds, when the batch was completed: all processes of the host share it. */
  Completed: 31,
} as const

/** What became of a row. */
export const RowStatus = {
  Empty: 0,
  Good: 1,
  Bad: 2,
  /** A repeat that fills up the last batch (`last: pad`): there, but not valid. */
  Filler: 3,
} as const
