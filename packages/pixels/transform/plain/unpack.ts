/** Takes the compression off a column's bytes, within what the field can hold. */

import { DTYPES, elements } from '../../../core/basics/dtype.js'
import { MOST_HEADER } from '../../../core/basics/npy/file.js'
import type { NormalField } from '../../../core/define/types.js'
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decompress, type Size } from '../../decode/compressed/decompress.js'

/** Elements of an array may be stored as wide as this, wider than the field's. */
const WIDEST = 8
/** The usual size of NumPy's header. */
const HEADER = 128

/** Takes the compression off a field's values, where they have one. */
export function unpacker(field: NormalField): (value: FieldValue) => FieldValue {
  const { compression } = field
  if (compression === undefined) return value => value
  const size = unpackedSize(field)
  // A value from the index was never compressed. The decoder of the field says what is wrong with it.
  return value => (value instanceof Uint8Array ? decompress(compression, value, size) : value)
}

function unpackedSize({ as, layout }: NormalField): Size {
  const count = elements(layout.shape) * (layout.max ?? 1)
  if (as === 'bytes') return { most: count, usual: count }
  return { most: count * WIDEST + MOST_HEADER, usual: count * DTYPES[layout.dtype].bytes + HEADER }
}
