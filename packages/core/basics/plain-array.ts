/** Arrays as the rest of the code, and functions of the user's, want them: little-endian, in C order, in one piece. */
import {
  bytesOfStored,
  countOf,
  isRead,
  type StoredDtype,
  type Tile,
  type TiledArray,
  type Unread,
} from './array.js'
import { READERS } from './element.js'
import { DecodeError, MillraceError } from './errors.js'
import { togetherToTheEnd } from './maybe.js'
import { eachRun, gather, walkTile } from './tile-walk.js'

export interface PlainArray {
  dtype: StoredDtype
  shape: number[]
  data: Uint8Array
}

/** A view of the array's own data where that is possible, else a copy. */
export function plainArray(array: TiledArray): PlainArray {
  if (!isRead(array))
    throw new DecodeError('is an array that is not read yet: its source gives ranges of a file')
  const { dtype, tiles } = array
  const shape = array.shape as number[]
  const size = bytesOfStored(dtype)
  const walks = tiles.map(tile => walkTile(tile, dtype, shape, tile.data.length))
  checkCount(
    shape,
    walks.reduce((sum, walk) => sum + walk.count, 0),
  )
  if (walks.length === 1 && walks[0].packed && walks[0].whole && !tiles[0].bigEndian) {
    const [{ first, count }] = walks
    return { dtype, shape, data: tiles[0].data.subarray(first, first + count * size) }
  }
  const data = new Uint8Array(countOf(shape) * size)
  tiles.forEach((tile, i) => {
    const walk = walks[i]
    const piece = new Uint8Array(walk.count * size)
    gather(tile.data, walk, 0, walk.count, piece, 0)
    if (tile.bigEndian) reverse(piece, size)
    eachRun(walk, 0, walk.count, (from, n, _, to) => {
      const step = walk.axes.at(-1)?.to ?? 1
      if (step === 1) data.set(piece.subarray(from * size, (from + n) * size), to * size)
      else
        for (let k = 0; k < n; k++)
          data.set(piece.subarray((from + k) * size, (from + k + 1) * size), (to + k * step) * size)
    })
  })
  return { dtype, shape, data }
}

/** The same array with all of its bytes; `read` fills memory with those that were left where they are. */
export function landed(
  array: TiledArray,
  read: ReadBytes | undefined,
): TiledArray<Uint8Array> | Promise<TiledArray<Uint8Array>> {
  if (isRead(array)) return array
  const tiles: Tile<Uint8Array>[] = []
  const all = { ...array, tiles }
  const pending = togetherToTheEnd(
    array.tiles.map(tile => () => {
      if (tile.data instanceof Uint8Array) return void tiles.push({ ...tile, data: tile.data })
      const data = new Uint8Array(tile.data.length)
      tiles.push({ ...tile, data })
      return reading(read)(tile.data, data)
    }),
  )
  return pending instanceof Promise ? pending.then(() => all) : all
}

/** Fills `into` with bytes that were left where they are; a promise where that takes long. */
export type ReadBytes = (range: Unread, into: Uint8Array) => void | Promise<void>

export function reading(read: ReadBytes | undefined): ReadBytes {
  if (read !== undefined) return read
  throw new MillraceError('an array that is not read yet was given where nothing can be read')
}

/** Refuses tiles that leave elements out, or have some of them twice: what they leave out would be of an older row. */
export function checkCount(shape: readonly number[], count: number): void {
  if (count === countOf(shape)) return
  throw new DecodeError(
    `the tiles of an array of shape [${shape}] hold ${count} elements, and not its ${countOf(shape)}: its source is wrong`,
  )
}

/** Reverses the bytes of each element. */
function reverse(data: Uint8Array, size: number): void {
  for (let i = 0; i < data.length; i += size) data.subarray(i, i + size).reverse()
}

/** All elements as numbers; those of 64 bits as the nearest that JavaScript has. */
export function numbersOf({ dtype, shape, data }: PlainArray): Float64Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const size = bytesOfStored(dtype)
  const read = READERS[dtype]
  const out = new Float64Array(countOf(shape))
  for (let i = 0; i < out.length; i++) out[i] = Number(read(view, i * size))
  return out
}
