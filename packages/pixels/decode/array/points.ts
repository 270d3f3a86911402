/** Points: rows [x, y], or [x, y, label], in pixels of the picture as its field reads it. */
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decodeRows, type Rows } from './rows.js'

export function decodePoints(value: FieldValue): Rows {
  return decodeRows(value, 'points', [2, 3])
}
