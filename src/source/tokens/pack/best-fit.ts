/**
 * Packs documents into rows of `places` tokens, none cut where it fits whole: the longest first, each into the row with the least
 * room that is enough. What is longer than a row is cut into full rows and a rest.
 *
 * Memory: 8 bytes a document and 8 a row. What is looked up together lies together: for a hundred million
 * documents it is memory that takes the time.
 */

/** What becomes of documents that are longer than a row: cut into several; the first row of it alone; nothing. */
export type Long = 'split' | 'truncate' | 'drop'

const NONE = 0xffffffff

/** Packs `count` documents; `taken` tells the places that each takes. Documents without any are left out. */
export function packBestFit(
  count: number,
  taken: (document: number) => number,
  places: number,
  long: Long = 'split',
): Packed {
  const { entries, counts, full, used } = byLength(count, taken, places, long)
  const { table, rows } = assign(entries, counts, places, Math.ceil(used / places))
  return new Packed(entries, table, counts, rows, full, rows * places - used)
}

/** The rows of packed documents. The first `full` are full pieces of long documents, in the order of the documents. */
export class Packed {
  /** Documents in one of the other rows, at most. */
  readonly most: number
  /** Entries whose rest is longer, for each rest. */
  private readonly before: Float64Array

  constructor(
    /** For each document with a rest: its number, and the entry of the one that was put into the same row before it. */
    private readonly entries: Uint32Array,
    /** For each other row: its last entry, and a word for packing, in whose place the number of its entries comes. */
    private readonly table: Uint32Array,
    counts: Uint32Array,
    /** Rows behind the full ones. */
    readonly others: number,
    readonly full: number,
    /** Places that no token takes. */
    readonly padding: number,
  ) {
    this.before = new Float64Array(counts.length)
    for (let rest = counts.length - 2; rest > 0; rest--)
      this.before[rest] = this.before[rest + 1] + counts[rest + 1]
    this.before[0] = Infinity
    let most = 0
    for (let row = 0; row < others; row++) {
      let count = 0
      for (let entry = table[2 * row]; entry !== NONE; entry = entries[2 * entry + 1]) count++
      table[2 * row + 1] = count
      if (count > most) most = count
    }
    this.most = most
  }

  /** All rows. */
  get rows(): number {
    return this.full + this.others
  }

  /** Documents in all rows behind the full ones. */
  get pieces(): number {
    return this.entries.length / 2
  }

  /** Documents of a row behind the full ones. */
  count(row: number): number {
    return this.table[2 * row + 1]
  }

  /** Writes the documents of which a row behind the full ones has what their full pieces leave; says how many. */
  documents(row: number, out: number[]): number {
    let count = 0
    for (let entry = this.table[2 * row]; entry !== NONE; entry = this.entries[2 * entry + 1])
      out[count++] = this.entries[2 * entry]
    return count
  }

  /** Writes the places that each of these documents takes in the row. */
  rests(row: number, out: number[]): number {
    let count = 0
    for (let entry = this.table[2 * row]; entry !== NONE; entry = this.entries[2 * entry + 1])
      out[count++] = this.restOf(entry)
    return count
  }

  /** Entries are sorted by their rests, the longest first: it is the least rest before which there are not more entries. */
  private restOf(entry: number): number {
    const { before } = this
    let low = 1
    let high = before.length - 2
    while (low < high) {
      const middle = (low + high) >>> 1
      if (before[middle] <= entry) high = middle
      else low = middle + 1
    }
    return low
  }
}

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

/** Entries of documents with a rest, the longest rest first, those of equal ones in their order; how many have each rest. */
function byLength(
  documents: number,
  taken: (document: number) => number,
  places: number,
  long: Long,
): { entries: Uint32Array; counts: Uint32Array; full: number; used: number } {
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
  const at = new Uint32Array(places + 1)
  let count = 0
  let used = 0
  for (let rest = places - 1; rest > 0; rest--) {
    at[rest] = count
    count += counts[rest]
    used += counts[rest] * rest
  }
  const entries = new Uint32Array(2 * count)
  for (let i = 0; i < documents; i++) {
    const length = taken(i)
    const rest = length < places ? length : restOf(length, places, long)
    if (rest > 0) entries[2 * at[rest]++] = i
  }
  return { entries, counts, full, used }
}

/** Gives each entry a row, and links those of a row. `least`: rows that there are at least. */
function assign(
  entries: Uint32Array,
  counts: Uint32Array,
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
        entries[2 * entry + 1] = NONE
      } else {
        row = heads[space]
        heads[space] = table[2 * row + 1]
        if (heads[space] === NONE) spaces.remove(space)
        entries[2 * entry + 1] = table[2 * row]
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
