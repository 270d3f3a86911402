/** The columns of an .npy array: `data`, or the fields of its records. */
import { countOf } from '../../core/basics/array.js'
import { DecodeError } from '../../core/basics/errors.js'
import { type NpyField, npyFields } from '../../core/basics/npy/element.js'
import { MOST_HEADER, type NpyFront, npyStart, readNpyFront } from '../../core/basics/npy/front.js'
import type { ArrayType } from './member.js'
import type { ReadPiece } from './read-file.js'

/** Bytes that are read at first: NumPy's own headers have 128, of records some hundred more. */
const FIRST_READ = 512

/** The front of an array whose first byte is read at 0. */
export async function frontOf(read: ReadPiece): Promise<NpyFront> {
  const first = await read(0, FIRST_READ)
  const start = first.length < 7 ? 0 : npyStart(first)
  if (start <= first.length || first.length < FIRST_READ) return readNpyFront(first)
  return readNpyFront(await read(0, Math.min(start, MOST_HEADER)))
}

export interface NpyColumn {
  /** '' where elements are no records. */
  field: string
  type: ArrayType
}

/** The columns of an array, of which there are `room` bytes behind the header. */
export function columnsOf({ descr, shape, fortran }: NpyFront, room: number): NpyColumn[] {
  const { item, fields } = npyFields(descr)
  const bytes = countOf(shape) * item
  const objects = fields.some(({ refused }) => refused?.includes('pickled'))
  if (!(bytes <= room) && !objects) {
    throw new DecodeError(
      `npy array of shape (${shape.join(', ')}) needs ${bytes} bytes, but there are ${room}: it is cut off`,
    )
  }
  return fields.map(field => ({ field: field.name, type: typeOf(field, shape, fortran, item, descr) }))
}

function typeOf(
  { dtype, text, bytes, bigEndian, refused, offset, shape: inner, name }: NpyField,
  shape: readonly number[],
  fortran: boolean,
  item: number,
  descr: NpyFront['descr'],
): ArrayType {
  const record = typeof descr !== 'string'
  return {
    ...(dtype && { dtype }),
    ...(text && { text, textBytes: bytes }),
    ...(refused && { refused: record ? `field "${name}": ${refused}` : refused }),
    shape,
    ...(bigEndian && { bigEndian }),
    ...(fortran && shape.length > 1 && { fortran }),
    item,
    ...(record && { offset, inner }),
  }
}
