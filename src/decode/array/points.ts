/** Points: rows [x, y], or [x, y, label], in pixels of the upright picture. */
import { decodeRows, type Rows } from './rows.js'

export function decodePoints(value: Uint8Array | number | string): Rows {
  return decodeRows(value, 'points', [2, 3])
}
