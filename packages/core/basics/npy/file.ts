/**
 * NumPy's .npy: a header (basics/npy/front.ts), then the elements. Nothing is unpickled, and nothing is allocated beyond the
 * size of the input.
 */
import { bytesOfStored, countOf, type StoredDtype, type Tile, type TiledArray } from '../array.js'
import { DecodeError } from '../errors.js'
import { type PlainArray, plainArray } from '../plain-array.js'
import { npyElement } from './element.js'
import { readNpyFront } from './front.js'
import type { Descr } from './header-text.js'

export { isNpy, MOST_HEADER } from './front.js'

/** The array of a .npy file, as it lies there: in its own order of bytes and of axes. */
export function openNpy(bytes: Uint8Array): TiledArray<Uint8Array> {
  const { descr, fortran, shape, start } = readNpyFront(bytes)
  const { dtype, bigEndian } = readType(descr)
  const size = bytesOfStored(dtype)

  const room = bytes.length - start
  const elements = countOf(shape)
  if (elements * size > room) {
    throw new DecodeError(
      `npy array of shape (${shape.join(', ')}) needs ${elements * size} bytes, but there are ${room}: it is cut off`,
    )
  }
  const tile: Tile<Uint8Array> = { data: bytes.subarray(start, start + elements * size) }
  if (bigEndian) tile.bigEndian = true
  if (fortran && shape.length > 1) tile.strides = fortranStrides(shape, size)
  return { dtype, shape, tiles: [tile] }
}

/** The same, little-endian and in C order; a view of the input where that is possible. */
export function decodeNpy(bytes: Uint8Array): PlainArray {
  return plainArray(openNpy(bytes))
}

/** The first axis varies fastest. */
function fortranStrides(shape: readonly number[], size: number): number[] {
  let bytes = size
  return shape.map(n => {
    const stride = bytes
    bytes *= n
    return stride
  })
}

function readType(descr: Descr): { dtype: StoredDtype; bigEndian: boolean } {
  if (typeof descr !== 'string') {
    throw new DecodeError(
      'npy array has structured elements: save each of its fields as an array of its own, or read the file by the source "npy"',
    )
  }
  const { dtype, bigEndian, refused } = npyElement(descr)
  if (dtype !== undefined) return { dtype, bigEndian }
  throw new DecodeError(
    refused ??
      `npy array has elements of type "${descr.slice(0, 60)}": only bool, integers and floats up to 64 bits can be fed`,
  )
}
