/**
 * Packs documents into rows of `places` tokens, none cut where it fits whole: the longest first, each into the row with the least
 * room that is enough. What is longer than a row is cut into full rows and a rest.
 *
 * Memory: 16 bytes a document while it packs, 8 afterwards.
 */

export interface Packed {
  /** Rows. The first `full` of them are full pieces of long documents, in the order of the documents. */
  rows: number
  full: number
  /** First entry of each other row in `pieces`, and the count at the end. */
  starts: Uint32Array
  /** Documents of which a row has what is left behind their full pieces. */
  pieces: Uint32Array
  /** Places that no token takes. */
  padding: number
}

/** What becomes of documents that are longer than a row: cut into several; the first row of it alone; nothing. */
export type Long = 'split' | 'truncate' | 'drop'

/** `lengths`: the places that each document takes. Documents without any are left out. */
export function packBestFit(lengths: ArrayLike<number>, places: number, long: Long = 'split'): Packed {
  const { order, full } = byLength(lengths, places, long)
  const rowOf = new Uint32Array(order.length)
  const { rows, used } = assign(order, rowOf, lengths, places)
  // By rows, and in each in the order in which they were put.
  const starts = new Uint32Array(rows + 1)
  for (const row of rowOf) starts[row + 1]++
  for (let row = 0; row < rows; row++) starts[row + 1] += starts[row]
  const pieces = new Uint32Array(order.length)
  const next = starts.slice(0, rows)
  for (let i = 0; i < order.length; i++) pieces[next[rowOf[i]]++] = order[i]
  return { rows: full + rows, full, starts, pieces, padding: rows * places - used }
}

/** Documents with a rest, the longest rest first, those of equal ones in their order; and the number of full pieces. */
function byLength(
  lengths: ArrayLike<number>,
  places: number,
  long: Long,
): { order: Uint32Array; full: number } {
  const counts = new Uint32Array(places + 1)
  let full = 0
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i]
    if (length >= places) full += piecesOf(length, places, long)
    counts[restOf(length, places, long)]++
  }
  const at = new Uint32Array(places + 1)
  let count = 0
  for (let rest = places - 1; rest > 0; rest--) {
    at[rest] = count
    count += counts[rest]
  }
  const order = new Uint32Array(count)
  for (let i = 0; i < lengths.length; i++) {
    const rest = restOf(lengths[i], places, long)
    if (rest > 0) order[at[rest]++] = i
  }
  return { order, full }
}

/** Full rows that a document takes. */
export function piecesOf(length: number, places: number, long: Long): number {
  if (long === 'split' || length === places) return Math.floor(length / places)
  return long === 'truncate' && length > places ? 1 : 0
}

/** Places that a document takes behind its full rows. */
export function restOf(length: number, places: number, long: Long): number {
  if (length < places) return length
  return long === 'split' ? length % places : 0
}

const NONE = 0xffffffff

/** Gives each document of `order` a row. */
function assign(
  order: Uint32Array,
  rowOf: Uint32Array,
  lengths: ArrayLike<number>,
  places: number,
): { rows: number; used: number } {
  const spaces = new Spaces(places)
  // Rows with equal room: the last of them, and before each row the one before.
  const heads = new Uint32Array(places + 1).fill(NONE)
  let before: Uint32Array = new Uint32Array(1024)
  let rows = 0
  let used = 0
  for (let i = 0; i < order.length; i++) {
    const length = lengths[order[i]] % places
    used += length
    let space = spaces.least(length)
    let row: number
    if (space < 0) {
      space = places
      row = rows++
      if (row === before.length) before = grown(before)
    } else {
      row = heads[space]
      heads[space] = before[row]
      if (heads[space] === NONE) spaces.remove(space)
    }
    rowOf[i] = row
    const left = space - length
    if (left === 0) continue
    before[row] = heads[left]
    if (heads[left] === NONE) spaces.add(left)
    heads[left] = row
  }
  return { rows, used }
}

function grown(numbers: Uint32Array): Uint32Array {
  const larger = new Uint32Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}

/** A set of numbers up to a limit, of which the least that is large enough is found: bits, and bits that say where there are some. */
class Spaces {
  private readonly levels: Uint32Array[] = []

  constructor(most: number) {
    for (let size = most + 1; ; size = Math.ceil(size / 32)) {
      this.levels.push(new Uint32Array(Math.ceil(size / 32)))
      if (size <= 32) return
    }
  }

  add(number: number): void {
    for (const level of this.levels) {
      level[number >>> 5] |= 1 << (number & 31)
      number >>>= 5
    }
  }

  remove(number: number): void {
    for (const level of this.levels) {
      level[number >>> 5] &= ~(1 << (number & 31))
      if (level[number >>> 5] !== 0) return
      number >>>= 5
    }
  }

  /** The least number that is not below `from`; −1 where there is none. */
  least(from: number): number {
    let at = from
    for (let up = 0; up < this.levels.length; up++) {
      const level = this.levels[up]
      const word = at >>> 5
      if (word >= level.length) return -1
      const bits = level[word] & (~0 << (at & 31))
      if (bits !== 0) {
        let found = (word << 5) | lowest(bits)
        for (let down = up - 1; down >= 0; down--) found = (found << 5) | lowest(this.levels[down][found])
        return found
      }
      at = word + 1
    }
    return -1
  }
}

function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
