/** Bounding boxes: rows [x1, y1, x2, y2] or [x1, y1, x2, y2, label], in pixels of the picture as its field reads it. */
import { DecodeError } from '../../../core/basics/errors.js'
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decodeRows, type Rows } from './rows.js'

export function decodeBoxes(value: FieldValue): Rows {
  const rows = decodeRows(value, 'boxes', [4, 5])
  for (let i = 0; i < rows.count; i++) {
    const [x1, y1, x2, y2] = rows.values.subarray(i * rows.columns)
    if (x2 >= x1 && y2 >= y1) continue
    throw new DecodeError(
      `box ${i} is [${x1}, ${y1}, ${x2}, ${y2}], which ends before it begins: boxes are [x1, y1, x2, y2], ` +
        'not [x, y, width, height]',
    )
  }
  return rows
}
