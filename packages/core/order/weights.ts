/**
 * Draws with replacement: each draw is an independent choice of a row by weight, keyed by (seed, epoch, position).
 * The alias method (Walker, in Vose's way) answers in O(1): n columns of equal height, each shared by at most two
 * rows; a draw picks a column evenly, and then one of its two rows by a coin.
 *
 * The tables take 12 bytes a row, are built once per host in shared memory, and are given to threads as plain data.
 */

import { DefinitionError } from '../basics/errors.js'
import { hashText, Random } from '../basics/random.js'

/** Plain data that makes a weighted order in any thread. Both tables lie in SharedArrayBuffers. */
export interface WeightsData {
  count: number
  /** Draws in an epoch. */
  samples: number
  /** Share of its column that belongs to the row itself, 0…1. */
  shares: Float64Array
  /** The row that has the rest of the column. */
  others: Uint32Array
  seed: number
  stream?: string | number
}

/** The tables for `count` weights ≥ 0 of any sum. `path` is the place in the definition, for errors. */
export function aliasTables(
  count: number,
  weight: (row: number) => number,
  path = 'order.weights',
): Pick<WeightsData, 'shares' | 'others'> {
  if (count > 2 ** 32 - 1)
    throw new DefinitionError(path, `weights for ${count} rows: at most 2^32 − 1 can be held`)
  const shares = new Float64Array(new SharedArrayBuffer(count * 8))
  const others = new Uint32Array(new SharedArrayBuffer(count * 4))

  let heaviest = 0
  for (let row = 0; row < count; row++) {
    const w = weight(row)
    if (typeof w !== 'number' || !(w >= 0) || w === Infinity)
      throw new DefinitionError(path, `the weight of row ${row} is ${w}; expected a number from 0`)
    shares[row] = w
    if (w > shares[heaviest]) heaviest = row
  }
  if (count === 0) return { shares, others }
  const most = shares[heaviest]
  if (most === 0) throw new DefinitionError(path, `all ${count} weights are 0: nothing could ever be drawn`)

  // In units of the mean, after a division by the greatest so that no sum overflows.
  let sum = 0
  for (let row = 0; row < count; row++) sum += shares[row] / most
  const scale = count / sum
  for (let row = 0; row < count; row++) shares[row] = (shares[row] / most) * scale

  // Rows below the mean wait at the front of the list, the others at its back.
  const waiting = new Uint32Array(count)
  let light = 0
  let heavy = count
  for (let row = 0; row < count; row++) waiting[shares[row] < 1 ? light++ : --heavy] = row
  while (light > 0 && heavy < count) {
    const small = waiting[--light]
    const large = waiting[heavy]
    others[small] = large
    shares[large] -= 1 - shares[small]
    if (shares[large] < 1) {
      heavy++
      waiting[light++] = large
    }
  }
  // What is left would be full columns but for rounding. A row of weight 0 must not become one of them.
  while (heavy < count) shares[waiting[heavy++]] = 1
  while (light > 0) {
    const row = waiting[--light]
    if (weight(row) > 0) shares[row] = 1
    else others[row] = heaviest
  }
  return { shares, others }
}

/** Weights that make every class equally likely, whatever its number of rows. Rows without a label are a class, too. */
export function balancedWeights(
  count: number,
  label: (row: number) => number | string | undefined,
): (row: number) => number {
  const rows = new Map<number | string | undefined, number>()
  for (let row = 0; row < count; row++) {
    const name = label(row)
    rows.set(name, (rows.get(name) ?? 0) + 1)
  }
  return row => 1 / rows.get(label(row))!
}

export class WeightsOrder {
  readonly length: number
  private readonly random = new Random()
  private readonly key: number

  constructor(private readonly data: WeightsData) {
    this.length = data.samples
    this.key = hashText(`weights/${data.stream ?? ''}`)
  }

  /** The row that is drawn at a position. */
  at(epoch: number, position: number): number {
    const { count, shares, others, seed } = this.data
    const random = this.random.key(seed, epoch, position, this.key)
    const row = random.int(count)
    return random.next() < shares[row] ? row : others[row]
  }
}
