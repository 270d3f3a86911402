/** Gives every row a place in [0, 1) by the hash of its key or group. A split takes the rows in one stretch of it. */
import type { SplitJson } from '../../define/types.js'
import { hashKey, place } from '../index/key-hash.js'
import type { Source } from '../source.js'
import { indexColumn } from './condition.js'

/** From `from` up to, and without, `to`; with `not`, everything else. */
export interface Stretch {
  from: number
  to: number
  not: boolean
}

/** By the row's group where there is one, otherwise by its key: a row without a value in `groupBy` is a group of its own. */
export function placeOf(source: Source, { groupBy, seed = 0 }: SplitJson): (row: number) => number {
  const byKey = (row: number): number => place(source.keyHash?.(row) ?? hashKey(source.key(row)), seed)
  if (groupBy !== undefined) {
    const column = indexColumn(source, groupBy, 'groupBy')
    return row => {
      const group = column.at(row)
      return group === undefined ? byKey(row) : place(hashKey(`group ${group}`), seed)
    }
  }
  return byKey
}
