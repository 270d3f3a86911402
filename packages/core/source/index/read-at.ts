/** How a file is read while it is indexed. */

/** Fills `into` from `position` on; gives the number of bytes, less than asked only at the end of the file. */
export type ReadAt = (into: Buffer, position: number) => Promise<number>

/** Reads `piece` bytes at least, and answers from them as long as they reach: for stores where each request costs much. */
export function buffered(read: ReadAt, piece: number): ReadAt {
  let held = Buffer.alloc(0)
  let from = 0
  return async (into, position) => {
    if (position < from || position + into.length > from + held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(piece, into.length))
      held = larger.subarray(0, await read(larger, position))
      from = position
    }
    return held.copy(into, 0, position - from)
  }
}
