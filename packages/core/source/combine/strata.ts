/**
 * Divides every value of `stratifyBy` (a class) exactly. The samples of a value are ranked by the hash of their keys, and
 * the ranks are cut at the cumulative fractions:
 *
 *   n samples, cumulative fraction c: the cut lies at ⌊c·n + u⌋, u in [0, 1) by hash of the value and the seed
 *
 * So a part gets the whole number below or above its ideal number, in every class. Rounding by u, not by ½, keeps the
 * totals right where classes are small: of a thousand classes with four samples each, a tenth is some 400 samples and
 * not none. A sample that is added to a class moves at most one other sample across each cut, and none of other classes.
 *
 * Samples of one key have one rank and stay together, so that nothing depends on the order of rows: where keys come
 * twice, the numbers are off by as much. With `groupBy`, whole groups are ranked and counted instead of samples.
 */

import { SourceError } from '../../basics/errors.js'
import type { SplitJson } from '../../define/types.js'
import { hashKey, place } from '../index/key-hash.js'
import type { Source } from '../source.js'
import { indexColumn } from './condition.js'

/** Values of a column, and for every row the number of its value. */
interface Strata {
  values: (number | string | undefined)[]
  of: Uint32Array
}

/** Whether a row is taken. */
export function strataChooser(
  source: Source,
  json: SplitJson,
  { from, to, not }: Stretch,
): (row: number) => boolean {
  const { groupBy, stratifyBy = '', seed = 0 } = json
  const strata = strataOf(source, stratifyBy, 'stratifyBy')
  if (groupBy !== undefined) checkGroups(source, groupBy, stratifyBy, strata)
  const at = placeOf(source, json)
  const places = new Float64Array(source.count)
  for (let row = 0; row < source.count; row++) places[row] = at(row)
  const ranked = rank(places, strata, groupBy !== undefined)
  const cuts = ranked.map(({ length }, s) => {
    const u = place(hashKey(`stratum ${strata.values[s]}`), seed)
    return { from: Math.floor(from * length + u), to: Math.floor(to * length + u) }
  })
  return row => {
    const s = strata.of[row]
    const position = lowerBound(ranked[s], places[row])
    return (position >= cuts[s].from && position < cuts[s].to) !== not
  }
}

/** Numbers the values of a column in the order in which they come. Rows without a value are a stratum, too. */
function strataOf(source: Source, name: string, by: string): Strata {
  const column = indexColumn(source, name, by)
  const numbers = new Map<number | string | undefined, number>()
  const of = new Uint32Array(source.count)
  for (let row = 0; row < source.count; row++) {
    const value = column.at(row)
    let number = numbers.get(value)
    if (number === undefined) {
      number = numbers.size
      numbers.set(value, number)
    }
    of[row] = number
  }
  return { values: [...numbers.keys()], of }
}

/** A group stays whole, so all of its samples must be of one stratum. */
function checkGroups(source: Source, groupBy: string, stratifyBy: string, strata: Strata): void {
  const groups = strataOf(source, groupBy, 'groupBy')
  const stratumOf = new Int32Array(groups.values.length).fill(-1)
  for (let row = 0; row < source.count; row++) {
    const group = groups.of[row]
    if (stratumOf[group] < 0) stratumOf[group] = strata.of[row]
    if (stratumOf[group] === strata.of[row]) continue
    const [a, b] = [strata.values[stratumOf[group]], strata.values[strata.of[row]]]
    throw new SourceError(
      `split: the group "${groups.values[group]}" of "${groupBy}" has samples with "${stratifyBy}" ${a} and ${b}: ` +
        'a group stays whole, so it can be of one stratum only; leave out stratifyBy, or groupBy',
    )
  }
}

/** The places of each stratum, ascending; with `once`, equal ones (those of a group) count once. */
function rank(places: Float64Array, { values, of }: Strata, once: boolean): Float64Array[] {
  const counts = new Uint32Array(values.length)
  for (const s of of) counts[s]++
  const ranked = Array.from(counts, length => new Float64Array(length))
  const filled = new Uint32Array(values.length)
  for (let row = 0; row < of.length; row++) ranked[of[row]][filled[of[row]]++] = places[row]
  for (const stratum of ranked) stratum.sort()
  return once ? ranked.map(stratum => stratum.filter((p, i) => i === 0 || p !== stratum[i - 1])) : ranked
}

/** How many of the sorted values are less than `p`. */
function lowerBound(sorted: Float64Array, p: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle] < p) low = middle + 1
    else high = middle
  }
  return low
}

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
