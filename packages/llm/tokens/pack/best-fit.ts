/**
 * Packs documents into rows of `places` tokens, none cut where it fits whole: the longest first, each into the row with the least
 * room that is enough. What is longer than a row is cut into full rows and a rest.
 *
 * Memory: 10 bytes a document and 8 a row. Documents are gone through in their order, and rows in theirs: for a hundred million
 * documents it is memory that takes the time.
 */

/** What becomes of documents that are longer than a row: cut into several; the first row of it alone; nothing. */
export type Long = 'split' | 'truncate' | 'drop'

export interface PackInput {
  /** Documents. */
  count: number
  /** The places that a document takes. Documents without any are left out. */
  taken(document: number): number
  /** A number that stands for the rest of a document in its row, from 0 to 2^48 − 1. Asked for in the order of documents. */
  mark(document: number): number
}

const NONE = 0xffffffff
const LOW = 2 ** 32

export function packBestFit(input: PackInput, places: number, long: Long = 'split'): Packed {
  const { entries, full, used } = byLength(input, places, long)
  const { table, rows } = assign(entries, places, Math.ceil(used / places))
  return new Packed(entries, table, rows, full, rows * places - used)
}

/** Documents with a rest, the longest rest first, those of equal ones in their order. */
interface Entries {
  count: number
  /** The marks: their low and high bits. */
  low: Uint32Array
  high: Uint16Array
  /** The entry that was put into the same row before. */
  link: Uint32Array
  /** How many have each rest, and how many have a longer one. */
  counts: Uint32Array
  before: Uint32Array
}

/** The rows of packed documents. The first `full` are full pieces of long documents, in the order of the documents. */
export class Packed {
  /** For every BLOCK-th entry, its rest. */
  private readonly rests: Uint32Array

  constructor(
    private readonly entries: Entries,
    /** For each other row: its last entry, and a word that only packing needs. */
    private readonly table: Uint32Array,
    /** Rows behind the full ones. */
    readonly others: number,
    readonly full: number,
    /** Places that no token takes. */
    readonly padding: number,
  ) {
    const { count, before } = entries
    this.rests = new Uint32Array(Math.ceil(count / BLOCK))
    let rest = before.length - 2
    for (let block = 0; block < this.rests.length; block++) {
      while (rest > 1 && before[rest - 1] <= block * BLOCK) rest--
      this.rests[block] = rest
    }
  }

  /** All rows. */
  get rows(): number {
    return this.full + this.others
  }

  /** Documents in all rows behind the full ones. */
  get pieces(): number {
    return this.entries.count
  }

  /** Writes the marks of the documents in a row behind the full ones; says how many there are. */
  marks(row: number, out: number[]): number {
    const { low, high, link } = this.entries
    let count = 0
    for (let entry = this.table[2 * row]; entry !== NONE; entry = link[entry])
      out[count++] = high[entry] * LOW + low[entry]
    // Packing is done with this word.
    this.table[2 * row + 1] = count
    return count
  }

  /** How many they are, once they were asked for. */
  count(row: number): number {
    return this.table[2 * row + 1]
  }

  /** Writes the places that each of these documents takes in the row. */
  sizes(row: number, out: number[]): number {
    const { link } = this.entries
    let count = 0
    for (let entry = this.table[2 * row]; entry !== NONE; entry = link[entry])
      out[count++] = this.restOf(entry)
    return count
  }

  /** Entries are sorted by their rests: that of an entry is the one of its block, or somewhat less. */
  private restOf(entry: number): number {
    const { before } = this.entries
    let rest = this.rests[Math.floor(entry / BLOCK)]
    while (rest > 1 && before[rest - 1] <= entry) rest--
    return rest
  }
}

/** Entries between two of which the rest is kept. */
const BLOCK = 256

/** Full rows that a document takes. */
export function piecesOf(length: number, places: number, long: Long): number {
  if (length < places) return 0
  if (long === 'split' || length === places) return Math.floor(length / places)
  return long === 'truncate' ? 1 : 0
}

/** Places that a document takes behind its full rows. */
export function restOf(length: number, places: number, long: Long): number {
  if (length < places) return length
  return long === 'split' ? length % places : 0
}

function byLength(
  { count: documents, taken, mark }: PackInput,
  places: number,
  long: Long,
): { entries: Entries; full: number; used: number } {
  const counts = new Uint32Array(places + 1)
  let full = 0
  for (let i = 0; i < documents; i++) {
    const length = taken(i)
    if (length < places) counts[length]++
    else {
      full += piecesOf(length, places, long)
      counts[restOf(length, places, long)]++
    }
  }
  const before = new Uint32Array(places + 1)
  let count = 0
  let used = 0
  for (let rest = places - 1; rest > 0; rest--) {
    before[rest] = count
    count += counts[rest]
    used += counts[rest] * rest
  }
  const next = before.slice()
  const low = new Uint32Array(count)
  const high = new Uint16Array(count)
  for (let i = 0; i < documents; i++) {
    const length = taken(i)
    const rest = length < places ? length : restOf(length, places, long)
    if (rest === 0) continue
    const entry = next[rest]++
    const marked = mark(i)
    low[entry] = marked
    high[entry] = marked / LOW
  }
  return { entries: { count, low, high, link: new Uint32Array(count), counts, before }, full, used }
}

/** Gives each entry a row, and links those of a row. `least`: rows that there are at least. */
function assign(
  { link, counts }: Entries,
  places: number,
  least: number,
): { table: Uint32Array; rows: number } {
  const spaces = new Spaces(places)
  // Of the rows with equal room the last; each row has its last entry, and the row with equal room before it.
  const heads = new Uint32Array(places + 1).fill(NONE)
  let table = new Uint32Array(2 * Math.ceil(1.02 * least + 1024))
  let rows = 0
  let entry = 0
  for (let rest = places - 1; rest > 0; rest--) {
    for (const end = entry + counts[rest]; entry < end; entry++) {
      let space = spaces.least(rest)
      let row: number
      if (space < 0) {
        space = places
        row = rows++
        if (2 * row === table.length) table = grown(table)
        link[entry] = NONE
      } else {
        row = heads[space]
        heads[space] = table[2 * row + 1]
        if (heads[space] === NONE) spaces.remove(space)
        link[entry] = table[2 * row]
      }
      table[2 * row] = entry
      const left = space - rest
      if (left === 0) continue
      table[2 * row + 1] = heads[left]
      if (heads[left] === NONE) spaces.add(left)
      heads[left] = row
    }
  }
  return { table, rows }
}

function grown(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * Math.ceil(0.6 * numbers.length))
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
