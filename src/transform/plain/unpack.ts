/** Takes the compression off a column's bytes, within what the field can hold. */

import { DTYPES, elements } from '../../basics/dtype.js'
import { MOST_HEADER } from '../../decode/array/npy.js'
import { decompress, type Size } from '../../decode/decompress.js'
import type { NormalField } from '../../define/types.js'
import type { FieldValue } from '../field.js'

/** Arrays may be stored with elements as wide as this, whatever the field's are. */
const WIDEST = 8
/** NumPy's header, as it is written mostly. */
const HEADER = 128

/** What is to be done to a field's values before anything else. */
export function unpacker(field: NormalField): (value: FieldValue) => FieldValue {
  const { compression } = field
  if (compression === undefined) return value => value
  const size = unpackedSize(field)
  // What the index holds was never compressed; whoever reads the value says so.
  return value => (value instanceof Uint8Array ? decompress(compression, value, size) : value)
}

function unpackedSize({ as, layout }: NormalField): Size {
  const count = elements(layout.shape) * (layout.max ?? 1)
  if (as === 'bytes') return { most: count, usual: count }
  return { most: count * WIDEST + MOST_HEADER, usual: count * DTYPES[layout.dtype].bytes + HEADER }
}
