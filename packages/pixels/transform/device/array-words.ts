/**
 * The head of a row that holds a compressed array (array.ts). Python's copy (python/millrace/_generated/) is
 * generated from this file: npm run generate.
 */

/** Bytes of the head. */
export const HEAD_BYTES = 64

/** 32-bit words of the head. */
export const Head = {
  Form: 0,
  /** Bytes of the stream, or of the elements. */
  Bytes: 1,
  /** Bytes of the elements. */
  Size: 2,
  /** Bytes of the checksum behind the stream. */
  Checksum: 3,
} as const

/** What a row holds. */
export const ArrayForm = {
  /** Nothing: the row becomes zeros. */
  Nothing: 0,
  /** A stream for the device. */
  Compressed: 1,
  /** Finished elements. */
  Raw: 3,
} as const

/** Bytes that nvCOMP may read behind a stream's end. */
export const READ_BEHIND = 16
