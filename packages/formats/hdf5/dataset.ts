/**
 * A dataset while a feed runs: where its rows lie, as the index of its file has it. The row of an axis is a range where rows
 * lie one behind the other; where they are filtered, it is a part of a slab: of all chunks that hold the same rows.
 */
import { DecodeError } from '../../core/basics/errors.js'
import type { ByteRange } from '../../core/store/store.js'
import { unfilter } from './filters.js'
import type { Hdf5Tables, Kind } from './index-tables.js'
import { elementBytes } from './structure/datatype.js'

/** How the data of a dataset lie in the file. */
export const LIES = { nowhere: 0, together: 1, chunked: 2, heap: 3 } as const

/** No memory is taken for a chunk of more bytes than so many times its compressed ones, if they are many. */
const MOST_RATIO = 65536
const LEAST_BYTES = 1 << 20

export class Dataset {
  readonly path: string
  readonly kind: Kind
  readonly dims: readonly number[]
  readonly chunk: readonly number[]
  readonly lies: number
  /** Bytes of an element, with the arrays in it. */
  readonly element: number
  /** Rows of the first axis that lie in a slab. */
  readonly slabRows: number
  readonly slabs: number
  readonly rowBytes: number
  /** Rows lie one behind the other in a chunk, and went through no filter. */
  readonly plain: boolean
  private readonly offset: number
  private readonly firstChunk: number
  /** Chunks that hold the same rows. */
  private readonly across: number
  private readonly chunkBytes: number
  private readonly fill: Uint8Array | undefined

  constructor(
    private readonly tables: Hdf5Tables,
    number: number,
  ) {
    const from = tables.dimStart[number]
    const rank = tables.dimStart[number + 1] - from
    this.path = tables.path.at(number)
    this.kind = tables.kinds[tables.kind[number]]
    this.dims = Array.from(tables.dims.subarray(from, from + rank))
    this.chunk = Array.from(tables.chunkDims.subarray(from, from + rank))
    this.lies = tables.lies[number]
    this.element = elementBytes(this.kind.type)
    this.offset = tables.offset[number]
    this.firstChunk = tables.firstChunk[number]
    this.fill = this.kind.fill === undefined ? undefined : Buffer.from(this.kind.fill, 'base64')
    const { dims, chunk } = this
    this.rowBytes = product(dims.slice(1)) * this.element
    const chunked = this.lies === LIES.chunked
    this.slabRows = chunked ? chunk[0] : 1
    this.slabs = chunked ? Math.ceil(dims[0] / chunk[0]) : 0
    this.across = chunked ? product(dims.slice(1).map((n, i) => Math.ceil(n / chunk[i + 1]))) : 0
    this.chunkBytes = chunked ? product(chunk) * this.element : 0
    const whole = dims.slice(1).every((n, i) => n === chunk[i + 1])
    this.plain = chunked && whole && this.kind.filters.length === 0
  }

  /** Bytes of all elements. */
  get bytes(): number {
    return product(this.dims) * this.element
  }

  /** Whether the rows of an axis share what is read of them. */
  get shares(): boolean {
    return this.lies === LIES.chunked && !this.plain && this.slabRows > 1
  }

  /** The offset of a row that is a range; −1: it was never written. */
  rowOffset(row: number): number {
    if (this.lies === LIES.together) return this.offset + row * this.rowBytes
    if (!this.plain) return -1
    const chunk = Math.floor(row / this.slabRows)
    const at = this.tables.chunkOffset[this.firstChunk + chunk]
    return at === 0 ? -1 : at + (row - chunk * this.slabRows) * this.rowBytes
  }

  /** The offset of all data that lie together; −1: they were never written. */
  get start(): number {
    return this.lies === LIES.together ? this.offset : -1
  }

  /** Where a value of varying length lies. */
  value(row: number): { offset: number; bytes: number } {
    const at = this.firstChunk + row
    return { offset: this.tables.chunkOffset[at], bytes: this.tables.chunkBytes[at] }
  }

  /** The ranges of the chunks of some slabs that were written, in order. */
  pushSlabs(first: number, count: number, file: Pick<ByteRange, 'file' | 'was'>, out: ByteRange[]): void {
    const end = this.firstChunk + (first + count) * this.across
    for (let chunk = this.firstChunk + first * this.across; chunk < end; chunk++) {
      const offset = this.tables.chunkOffset[chunk]
      if (offset > 0)
        out.push({ file: file.file, offset, length: this.tables.chunkBytes[chunk], was: file.was })
    }
  }

  /** How many ranges that gives. */
  slabRanges(first: number, count: number): number {
    const end = this.firstChunk + (first + count) * this.across
    let ranges = 0
    for (let chunk = this.firstChunk + first * this.across; chunk < end; chunk++)
      if (this.tables.chunkOffset[chunk] > 0) ranges++
    return ranges
  }

  /** Rows of some slabs: the last one may have fewer. */
  rowsOf(first: number, count: number): number {
    return Math.min(this.dims[0], (first + count) * this.slabRows) - first * this.slabRows
  }

  /** Bytes that some slabs take while they are unpacked: a chunk may reach far beyond the end of its dataset. */
  roomOf(first: number, count: number): number {
    const rows = this.rowsOf(first, count) * this.rowBytes
    return rows === 0 ? 0 : Math.max(rows, this.chunkBytes)
  }

  /** Makes the rows of some slabs, in C order, of what was read of them, from `from` of the pieces on. */
  unpack(first: number, count: number, pieces: readonly Uint8Array[], from: number, into: Uint8Array): void {
    let piece = from
    const sides = this.dims.map((n, i) => Math.ceil(n / this.chunk[i]))
    const to = [this.rowsOf(first, count), ...this.dims.slice(1)]
    for (let i = 0; i < count * this.across; i++) {
      const chunk = this.firstChunk + first * this.across + i
      const at = placeOf(first * this.across + i, sides, this.chunk)
      at[0] -= first * this.slabRows
      const box: Box = { from: this.chunk, to, at }
      if (this.tables.chunkOffset[chunk] === 0) copyBox(box, undefined, this.fill, into, this.element)
      else this.unpackChunk(chunk, pieces[piece++], box, into)
    }
  }

  /** Fills with what stands for data that were never written. */
  fillInto(into: Uint8Array): void {
    spread(this.fill, into, 0, into.length)
  }

  /** The file has the chunk whole, also where it reaches over the end of the dataset. */
  private unpackChunk(chunk: number, piece: Uint8Array, box: Box, into: Uint8Array): void {
    const { filters } = this.kind
    const mask = this.tables.chunkMask[chunk]
    // A chunk that is the next piece of the rows as it stands is made in its place.
    const straight =
      this.across === 1 &&
      box.from.every((n, i) => n + box.at[i] <= box.to[i] && (i === 0 || n === box.to[i]))
    try {
      if (this.chunkBytes > Math.max(LEAST_BYTES, piece.length * MOST_RATIO))
        throw new DecodeError(
          `its ${piece.length} bytes can't become the ${this.chunkBytes} of a chunk: the file is damaged`,
        )
      if (straight) {
        const at = box.at[0] * this.rowBytes
        unfilter(filters, mask, piece, into.subarray(at, at + this.chunkBytes))
        return
      }
      const whole = scratch(this.chunkBytes)
      unfilter(filters, mask, piece, whole)
      copyBox(box, whole, undefined, into, this.element)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      const offset = this.tables.chunkOffset[chunk]
      throw new DecodeError(`dataset "${this.path}", chunk at byte ${offset}: ${error.message}`, {
        cause: error,
      })
    }
  }
}

/** Room for one chunk of this thread. */
let room = Buffer.alloc(0)

function scratch(bytes: number): Uint8Array {
  if (room.length < bytes) room = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * room.length))
  return room.subarray(0, bytes)
}

/** The first element of a chunk along each axis. */
function placeOf(number: number, sides: readonly number[], chunk: readonly number[]): number[] {
  const at = new Array<number>(sides.length)
  let rest = number
  for (let i = sides.length - 1; i >= 0; i--) {
    at[i] = (rest % sides[i]) * chunk[i]
    rest = Math.floor(rest / sides[i])
  }
  return at
}

const product = (numbers: readonly number[]): number => numbers.reduce((a, b) => a * b, 1)

/** A chunk, and the array of rows that it is a part of. All in elements. */
interface Box {
  /** Sides of the chunk, and of the array. */
  from: readonly number[]
  to: readonly number[]
  /** The first element of the chunk in the array. */
  at: readonly number[]
}

/**
 * Copies what of the chunk lies within the array. `from` undefined: `fill`, one element, stands for all of them.
 */
function copyBox(
  { from: sides, to, at }: Box,
  from: Uint8Array | undefined,
  fill: Uint8Array | undefined,
  into: Uint8Array,
  elementBytes: number,
): void {
  const rank = to.length
  const counts = to.map((n, i) => Math.min(sides[i], n - at[i]))
  // Axes at the end that both have whole are gone through as one.
  let run = elementBytes
  let last = rank - 1
  while (last > 0 && counts[last] === to[last] && sides[last] === to[last]) run *= counts[last--]
  const steps = { from: new Array<number>(rank), to: new Array<number>(rank) }
  let [stepFrom, stepTo] = [run, run]
  for (let i = last; i >= 0; i--) {
    steps.from[i] = stepFrom
    steps.to[i] = stepTo
    stepFrom *= sides[i]
    stepTo *= to[i]
  }
  const bytes = run * (last >= 0 ? counts[last] : 1)
  const index = new Array<number>(rank).fill(0)
  let [a, b] = [0, 0]
  for (let i = 0; i <= last; i++) b += at[i] * steps.to[i]
  for (;;) {
    if (from !== undefined) copy(from, a, into, b, bytes)
    else spread(fill, into, b, bytes)
    let axis = last - 1
    for (; axis >= 0; axis--) {
      a += steps.from[axis]
      b += steps.to[axis]
      if (++index[axis] < counts[axis]) break
      a -= steps.from[axis] * counts[axis]
      b -= steps.to[axis] * counts[axis]
      index[axis] = 0
    }
    if (axis < 0) return
  }
}

/** A view costs more than a few bytes. */
const FEW = 32

function copy(from: Uint8Array, a: number, into: Uint8Array, b: number, bytes: number): void {
  if (bytes > FEW) into.set(from.subarray(a, a + bytes), b)
  else for (let i = 0; i < bytes; i++) into[b + i] = from[a + i]
}

/** Fills with one element, again and again. */
function spread(element: Uint8Array | undefined, into: Uint8Array, at: number, bytes: number): void {
  if (element === undefined) {
    into.fill(0, at, at + bytes)
    return
  }
  into.set(element.subarray(0, Math.min(element.length, bytes)), at)
  for (let done = element.length; done < bytes; done *= 2)
    into.copyWithin(at + done, at, at + Math.min(done, bytes - done))
}
