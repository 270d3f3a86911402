/**
 * How the elements of a tile lie in its data and in the array: the axes, without those of one element, and joined where
 * they can be gone through as one. Then a tile that lies in C order on both sides is one axis, which is one copy.
 */
import { bytesOfStored, countOf, type StoredDtype, type Tile } from './array.js'
import { SourceError } from './errors.js'

/** An axis: so many elements, each so many bytes further in the data, and so many elements further in the array. */
export interface Axis {
  count: number
  from: number
  to: number
}

export interface Walk {
  /** The outermost first. None: a single element. */
  axes: readonly Axis[]
  /** The first element: its byte in the data, and its number in the array, in C order. */
  first: number
  start: number
  count: number
  /** Bytes of an element in the data. */
  size: number
  /** Whether the elements lie one behind the other in the data, and in the array. */
  packed: boolean
  whole: boolean
}

/** The walk through a tile of an array of this shape, whose data has `length` bytes. */
export function walkTile(
  { at, shape: own, strides, data }: Tile<unknown>,
  dtype: StoredDtype,
  shape: readonly number[],
  length: number,
): Walk {
  const size = bytesOfStored(dtype)
  const rank = shape.length
  const sides = own ?? (at === undefined ? shape : shape.map((n, i) => n - at[i]))
  for (const given of [at, own, strides]) if (given && given.length !== rank) throw crooked(shape, data)
  const count = countOf(sides)
  if (count === 0) return { axes: [], first: 0, start: 0, count: 0, size, packed: true, whole: true }
  const axes: Axis[] = []
  let [start, least, most] = [0, 0, 0]
  let [dense, inside, to] = [size, 1, 1] // in one step of the axis: bytes of the data, elements of the tile, of the array
  let [packed, whole] = [true, true]
  for (let i = rank - 1; i >= 0; i--) {
    const n = sides[i]
    const from = strides === undefined ? dense : strides[i]
    const begin = at?.[i] ?? 0
    if (!(begin >= 0 && n >= 0 && begin + n <= shape[i]) || !Number.isInteger(n + begin + from))
      throw crooked(shape, data)
    start += begin * to
    if (from < 0) least += from * (n - 1)
    else most += from * (n - 1)
    if (n > 1) {
      packed &&= from === dense
      whole &&= to === inside
      const inner = axes[0]
      if (inner !== undefined && from === inner.from * inner.count && to === inner.to * inner.count)
        inner.count *= n
      else axes.unshift({ count: n, from, to })
    }
    dense *= n
    inside *= n
    to *= shape[i]
  }
  const first = -least
  if (first + most + size > length) throw crooked(shape, data, first + most + size, length)
  return { axes, first, start, count, size, packed, whole }
}

function crooked(shape: readonly number[], data: unknown, needs?: number, length?: number): SourceError {
  const of = data instanceof Uint8Array ? '' : ` of ${(data as { file?: string }).file}`
  const how =
    needs === undefined
      ? 'its at, shape or strides reach beyond the array, or are not as many as it has axes'
      : `its strides reach to byte ${needs}, but its data has ${length}`
  return new SourceError(`a tile${of} does not fit its array of shape [${shape}]: ${how}`)
}

/**
 * Calls `run` for the elements `begin` ≤ i < `end` of the walk, in C order, in runs along the innermost axis: `n` elements
 * from byte `from` of the data on, to element `to` of the array on.
 */
export function eachRun(
  { axes, first, start }: Walk,
  begin: number,
  end: number,
  run: (i: number, n: number, from: number, to: number) => void,
): void {
  const inner = axes.at(-1) ?? { count: 1, from: 0, to: 0 }
  const last = axes.length - 2
  const index = new Array<number>(axes.length).fill(0)
  let rest = Math.floor(begin / inner.count)
  let skip = begin - rest * inner.count
  let [from, to] = [first, start]
  for (let k = last; k >= 0; k--) {
    index[k] = rest % axes[k].count
    rest = Math.floor(rest / axes[k].count)
    from += index[k] * axes[k].from
    to += index[k] * axes[k].to
  }
  for (let i = begin; i < end; skip = 0) {
    const n = Math.min(inner.count - skip, end - i)
    run(i, n, from + skip * inner.from, to + skip * inner.to)
    i += n
    for (let k = last; k >= 0; k--) {
      const axis = axes[k]
      from += axis.from
      to += axis.to
      if (++index[k] < axis.count) break
      from -= axis.from * axis.count
      to -= axis.to * axis.count
      index[k] = 0
    }
  }
}

/** Copies bytes to a place of the target. */
export type CopyBytes = (bytes: Uint8Array, at: number) => void

/** Brings elements of a tile together, in C order, at byte `at` of `target`. `copy` copies what lies together. */
export function gather(
  data: Uint8Array,
  walk: Walk,
  begin: number,
  end: number,
  target: Uint8Array,
  at: number,
  copy: CopyBytes = (bytes, to) => target.set(bytes, to),
): void {
  const { size, packed, first } = walk
  const stride = walk.axes.at(-1)?.from ?? size
  if (packed) copy(data.subarray(first + begin * size, first + end * size), at)
  else if (stride === size) {
    const run = (i: number, n: number, from: number): void =>
      copy(data.subarray(from, from + n * size), at + (i - begin) * size)
    eachRun(walk, begin, end, run)
  } else {
    const pick = picker(data, walk, target, at)
    eachRun(walk, begin, end, (i, n, from) => pick(from, stride, at + (i - begin) * size, n))
  }
}

/** Copies n elements that lie `stride` bytes apart: as words where both sides are aligned to them, else byte by byte. */
function picker(
  data: Uint8Array,
  { size, axes, first }: Walk,
  target: Uint8Array,
  at: number,
): (from: number, stride: number, to: number, n: number) => void {
  const word = Math.min(size, 4)
  const aligned =
    (data.byteOffset + first) % word === 0 &&
    (target.byteOffset + at) % word === 0 &&
    axes.every(axis => axis.from % word === 0)
  if (!aligned || word === 1) {
    return (from, stride, to, n) => {
      for (let i = 0; i < n; i++, from += stride, to += size)
        for (let b = 0; b < size; b++) target[to + b] = data[from + b]
    }
  }
  const Words: new (...of: [ArrayBufferLike, number, number]) => Uint32Array | Uint16Array =
    word === 4 ? Uint32Array : Uint16Array
  const words = size / word
  const shift = data.byteOffset % word // data of an odd offset, whose elements lie at even ones
  const source = new Words(data.buffer, data.byteOffset - shift, Math.floor((data.length + shift) / word))
  const moved = target.byteOffset % word
  const out = new Words(target.buffer, target.byteOffset - moved, Math.floor((target.length + moved) / word))
  return (from, stride, to, n) => {
    let [a, b] = [(from + shift) / word, (to + moved) / word]
    const step = stride / word
    if (words === 1) for (let i = 0; i < n; i++, a += step) out[b++] = source[a]
    else
      for (let i = 0; i < n; i++, a += step) {
        out[b++] = source[a]
        out[b++] = source[a + 1]
      }
  }
}
