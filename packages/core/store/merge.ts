/**
 * Turns the ranges that a claim wants into the reads that fetch them. Pure: nothing is read here.
 *
 * Samples that lie next to each other are fetched by one read, even across a small gap: reading a few unwanted
 * bytes is cheaper than asking twice.
 */
import type { ByteRange, MergeLimits } from './store.js'

/** Range i stands at `offsets[i]` inside read `of[i]`; an empty range needs no read: `of[i]` is −1. */
export interface Merged {
  reads: ByteRange[]
  /** For each read, the range that it begins with. */
  first: number[]
  of: number[]
  offsets: number[]
}

/** `limitsOf` gives the limits of the store that holds an object. */
export function merge(ranges: readonly ByteRange[], limitsOf: (file: string) => MergeLimits): Merged {
  const of = new Array<number>(ranges.length).fill(-1)
  const offsets = new Array<number>(ranges.length).fill(0)
  const reads: ByteRange[] = []
  const first: number[] = []
  let read: ByteRange | undefined
  for (const i of byPlace(ranges)) {
    const { file, offset, length, was } = ranges[i]
    if (read === undefined || !fits(read, ranges[i], limitsOf)) {
      read = { file, offset, length, was }
      reads.push(read)
      first.push(i)
    }
    read.length = Math.max(read.length, offset + length - read.offset)
    of[i] = reads.length - 1
    offsets[i] = offset - read.offset
  }
  return { reads, first, of, offsets }
}

/** Whether `next`, which begins no earlier than `read`, may be served by it. */
function fits(read: ByteRange, next: ByteRange, limitsOf: (file: string) => MergeLimits): boolean {
  if (read.file !== next.file) return false
  const { gap, most } = limitsOf(read.file)
  const end = read.offset + read.length
  const nextEnd = next.offset + next.length
  return nextEnd <= end || (next.offset - end <= gap && nextEnd - read.offset <= most)
}

/** The indices of the ranges that hold bytes, ordered by file and offset. */
function byPlace(ranges: readonly ByteRange[]): number[] {
  const indices: number[] = []
  for (let i = 0; i < ranges.length; i++) if (ranges[i].length > 0) indices.push(i)
  return indices.sort((i, j) => {
    const a = ranges[i]
    const b = ranges[j]
    if (a.file !== b.file) return a.file < b.file ? -1 : 1
    return a.offset - b.offset
  })
}
