/**
 * Where everything lies in a slot. A slot is one batch: a header, a few small columns with one entry a row, then, from
 * the next page on, the fields, each 64-byte aligned. Computed once from the definition; the same plain data tells makers
 * where to write, the consumer what to show, and a client in another process how to wrap it. That client can't write to
 * the pages before `dataAt`: makers trust what they find there.
 *
 *   slot ┬ header          words, see slot-words.ts
 *        ├ done     i32[chunks]  which chunks are finished
 *        ├ status   u8[B]  what became of each row
 *        ├ position f64[B] its position in the epoch
 *        ├ row      f64[B] its row in the source
 *        ├ source   i32[B] which source, when several are blended
 *        ├ for each field that varies in length:  length i32[B], place i32[B] (staging), ragged: offsets i32[B+1]
 *        └ dataAt   fields  dense   [B, …shape]
 *                           padded  [B, ≤ max, …shape]
 *                           ragged  values [≤ total, …shape], staging [total, …shape]
 */
import { DTYPES, elements } from '../basics/dtype.js'
import { BudgetError } from '../basics/errors.js'
import type { SlotField } from '../define/making.js'
import { MAX_CHUNKS, MAX_STRIDE } from './control-words.js'
import { HEADER_BYTES, MAX_FIELDS } from './slot-words.js'

const ALIGN = 64
const PAGE = 65536

/** A batch is made in about this many claims, so that it is spread over all makers and none waits long for the last one. */
const CHUNKS_A_BATCH = 16
/** Rows of one claim at most, unless they are small: their reads are merged, and a dead maker's are made again. */
const CHUNK_ROWS = 32
/** Small rows are claimed together up to this many bytes: a claim costs a few µs, as much as writing them. */
const CHUNK_BYTES = 65536
/** The same for rows that are hardly more than copied. */
export const QUICK_CHUNK_BYTES = 262144

/** A claim can be divided into so many, while it runs. */
const FINER = 8

/** Rows of one claim at most. */
export function mostRows({ chunkRows, chunks, rows }: SlotLayout): number {
  return Math.min(rows, chunkRows * Math.min(chunks, MAX_STRIDE))
}

/** A field's place in the slot: byte offsets from the slot's start. */
export interface FieldPlace extends SlotField {
  /** Bytes of one element along the varying axis (padded, ragged), or of one row (dense). */
  unitBytes: number
  /** First byte of the values, and how many there are at most. */
  at: number
  bytes: number
  /** Fields that vary in length: columns `length` and `place`, and for ragged ones `offsets` and the staging area. */
  lengthAt: number
  placeAt: number
  offsetsAt: number
  stagingAt: number
}

export interface SlotLayout {
  /** Rows at most. */
  rows: number
  /** Rows are claimed in chunks of this many, at first so many chunks together: enough claims for all makers, few enough to cost nothing. */
  chunkRows: number
  chunks: number
  stride: number
  doneAt: number
  statusAt: number
  positionAt: number
  rowAt: number
  sourceAt: number
  /** Where the fields begin: a whole page. */
  dataAt: number
  fields: FieldPlace[]
  /** Bytes of a slot, in whole pages. */
  bytes: number
}

/** `chunkBytes`: small rows are claimed together up to this many bytes. */
export function layoutSlot(fields: readonly SlotField[], rows: number, chunkBytes = CHUNK_BYTES): SlotLayout {
  if (fields.length > MAX_FIELDS) {
    throw new BudgetError(
      `a feed can have ${MAX_FIELDS} fields, this one has ${fields.length}: join some of them`,
    )
  }
  let next = HEADER_BYTES
  const take = (bytes: number): number => {
    const at = next
    next = Math.ceil((at + bytes) / ALIGN) * ALIGN
    return at
  }
  const claimRows = rowsOfClaim(fields, rows, chunkBytes)
  // Claims can get smaller than they are at first, and larger.
  const chunkRows = Math.max(1, Math.ceil(claimRows / FINER), Math.ceil(rows / MAX_CHUNKS))
  const chunks = Math.ceil(rows / chunkRows)
  const stride = Math.min(MAX_STRIDE, Math.max(1, Math.round(claimRows / chunkRows)))
  const doneAt = take(chunks * 4)
  const statusAt = take(rows)
  const positionAt = take(rows * 8)
  const rowAt = take(rows * 8)
  const sourceAt = take(rows * 4)
  const columns = fields.map(({ form }) => {
    if (form === 'dense') return { lengthAt: -1, placeAt: -1, offsetsAt: -1 }
    const varying = { lengthAt: take(rows * 4), placeAt: take(rows * 4) }
    return { ...varying, offsetsAt: form === 'padded' ? -1 : take((rows + 1) * 4) }
  })
  const dataAt = pages(next)
  next = dataAt
  const places: FieldPlace[] = fields.map((field, i) => {
    const unitBytes = bytesOf(field)
    const place = { ...field, ...columns[i], unitBytes, stagingAt: -1 }
    if (field.form === 'dense' || field.form === 'padded') {
      const bytes = rows * (field.form === 'dense' ? 1 : field.max!) * unitBytes
      return { ...place, bytes, at: take(bytes) }
    }
    const bytes = (field.total ?? rows * field.max!) * unitBytes
    return { ...place, bytes, at: take(bytes), stagingAt: take(bytes) }
  })
  const bytes = pages(next)
  if (bytes > 2 ** 31) {
    const largest = places.reduce((a, b) => (a.bytes > b.bytes ? a : b))
    throw new BudgetError(
      `a batch of ${rows} rows takes ${(bytes / 2 ** 30).toFixed(1)} GiB, more than the 2 GiB a slot can have; ` +
        `the largest field is "${largest.name}" with ${(largest.bytes / 2 ** 30).toFixed(1)} GiB: lower batch.size or its dtype`,
    )
  }
  return {
    rows,
    chunkRows,
    chunks,
    stride,
    doneAt,
    statusAt,
    positionAt,
    rowAt,
    sourceAt,
    dataAt,
    fields: places,
    bytes,
  }
}

function pages(bytes: number): number {
  return Math.ceil(bytes / PAGE) * PAGE
}

/** Bytes of one element along the varying axis, or of one row: none where a device makes them out of nothing. */
function bytesOf({ shape, dtype, device }: SlotField): number {
  return device?.kind === 'generated' ? 0 : elements(shape) * DTYPES[dtype].bytes
}

/** How many rows are claimed at a time, to begin with. */
function rowsOfClaim(fields: readonly SlotField[], rows: number, chunkBytes: number): number {
  const rowBytes = fields.reduce((sum, field) => sum + bytesOf(field) * (field.max ?? 1), 0)
  const even = Math.min(CHUNK_ROWS, Math.floor(rows / CHUNKS_A_BATCH))
  const small = Math.floor(chunkBytes / Math.max(1, rowBytes))
  return Math.min(rows, Math.max(1, even, small, Math.ceil(rows / MAX_CHUNKS)))
}
