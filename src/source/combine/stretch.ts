/** Gives every row a place in [0, 1) by the hash of its key or group. A split takes the rows in one stretch of it. */
import type { SplitJson } from '../../define/types.js'
import { hashKey, place } from '../index/key-hash.js'
import type { Source } from '../source.js'
import { indexColumn } from './subset.js'

/** From `from` up to, and without, `to`; with `not`, everything else. */
export interface Stretch {
  from: number
  to: number
  not: boolean
}

/** By the row's group where there is one, otherwise by its key. */
export function placeOf(source: Source, { groupBy, seed = 0 }: SplitJson): (row: number) => number {
  if (groupBy !== undefined) {
    const column = indexColumn(source, groupBy, 'groupBy')
    return row => place(hashKey(`group ${column.at(row)}`), seed)
  }
  return row => place(source.keyHash?.(row) ?? hashKey(source.key(row)), seed)
}
