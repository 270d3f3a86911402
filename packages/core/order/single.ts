/** The order of one source: none, global, window or weights, as plain data and as a function of (epoch, position). */

import { DefinitionError } from '../basics/errors.js'
import type { NormalOrder } from '../define/types.js'
import { type Permutation, permutation } from './permutation.js'
import { aliasTables, balancedWeights, type WeightsData, WeightsOrder } from './weights.js'
import { type WindowData, WindowOrder } from './window.js'

/** What an order needs to know of a source; every Source has it. */
export interface OrderSource {
  readonly count: number
  /** First row of each shard, ascending from 0. */
  readonly runs: Float64Array
  /** First row of each unit, ascending from 0, where rows share units. Equal starts: units that share their rows. */
  readonly unitStarts?: Float64Array
  /** Columns of the index, for weights by column and class balance. */
  index?(name: string): { at(row: number): number | string | undefined } | undefined
  /** Names of its columns, for messages. */
  readonly columns?: readonly string[]
  readonly indexed?: readonly string[]
}

/** Which row of a source stands at a position of an epoch. */
export interface SourceOrder {
  /** Positions in an epoch. */
  readonly length: number
  at(epoch: number, position: number): number
  /** The position at which a row comes, where each comes once. */
  inverse?(epoch: number, row: number): number
  /** The rows from a position on, where that is quicker than one after the other. */
  rows?(epoch: number, position: number, out: Uint32Array): void
}

interface GlobalData {
  count: number
  seed: number
  stream?: string | number
}

/** Plain data: survives postMessage, big tables are shared. */
export type SourceOrderData =
  | { kind: 'none'; count: number }
  | ({ kind: 'global' } & GlobalData)
  | ({ kind: 'window' } & WindowData)
  | ({ kind: 'weights' } & WeightsData)

/** Makes the data for one source. Slow only for weights, which are looked at row by row. */
export function planSource(
  order: NormalOrder,
  source: OrderSource,
  stream?: string | number,
): SourceOrderData {
  const { count } = source
  switch (order.kind) {
    case 'none':
    // The rows of the source are in Megatron's order already.
    case 'megatron':
      return { kind: 'none', count }
    case 'global':
      return { kind: 'global', count, seed: order.seed, stream }
    case 'window':
      return {
        kind: 'window',
        count,
        window: order.window,
        runs: source.runs,
        ...(source.unitStarts && { units: shared(source.unitStarts) }),
        seed: order.seed,
        stream,
      }
    case 'weights': {
      const samples = order.samples ?? count
      if (count === 0 && samples > 0)
        throw new DefinitionError('order.samples', `${samples} draws from a source that is empty`)
      const tables = aliasTables(count, weightOf(order.weights, source))
      return { kind: 'weights', count, samples, ...tables, seed: order.seed, stream }
    }
  }
}

/** The same numbers in memory that all threads see: a table of a million units is not copied to each of them. */
function shared(numbers: Float64Array): Float64Array {
  if (numbers.buffer instanceof SharedArrayBuffer) return numbers
  const copy = new Float64Array(new SharedArrayBuffer(numbers.byteLength))
  copy.set(numbers)
  return copy
}

export function compileSource(data: SourceOrderData): SourceOrder {
  switch (data.kind) {
    case 'none':
      return new SequentialOrder(data.count)
    case 'global':
      return new GlobalOrder(data)
    case 'window':
      return new WindowOrder(data)
    case 'weights':
      return new WeightsOrder(data)
  }
}

class SequentialOrder implements SourceOrder {
  constructor(readonly length: number) {}
  at(_epoch: number, position: number): number {
    return position
  }
  inverse(_epoch: number, row: number): number {
    return row
  }
}

/** The global shuffle. Two epochs are kept, since makers begin the next one before this one ends. */
class GlobalOrder implements SourceOrder {
  readonly length: number
  private readonly kept: (Permutation | undefined)[] = [undefined, undefined]
  private readonly keptEpoch = [-1, -1]

  constructor(private readonly data: GlobalData) {
    this.length = data.count
  }

  at(epoch: number, position: number): number {
    return this.epoch(epoch).at(position)
  }

  inverse(epoch: number, row: number): number {
    return this.epoch(epoch).inverse(row)
  }

  rows(epoch: number, position: number, out: Uint32Array): void {
    this.epoch(epoch).fill(out, position)
  }

  private epoch(epoch: number): Permutation {
    const way = epoch % 2
    if (this.keptEpoch[way] !== epoch) {
      const { count, seed, stream } = this.data
      this.kept[way] = permutation(count, { seed, epoch, stream })
      this.keptEpoch[way] = epoch
    }
    return this.kept[way]!
  }
}

function noColumn(name: string, { columns = [], indexed = [] }: OrderSource): string {
  const known = [...new Set([...columns, ...indexed])]
  if (columns.includes(name))
    return `the index has no column "${name}" (its values are too large for the index); it has ${indexed.join(', ')}`
  return `the source has no column "${name}"; name one that has a number or a text a row: it has ${known.join(', ')}`
}

type Weights = Extract<NormalOrder, { kind: 'weights' }>['weights']

/** The weight of each row, from a list, a column, or a class column to be balanced. */
function weightOf(weights: Weights, source: OrderSource): (row: number) => number {
  const { count } = source
  if (Array.isArray(weights)) {
    if (weights.length !== count)
      throw new DefinitionError('order.weights', `${weights.length} weights for a source of ${count} rows`)
    return row => weights[row]
  }
  const [name, path] =
    'column' in weights
      ? [weights.column, 'order.weights.column']
      : [weights.balance, 'order.weights.balance']
  const column = source.index?.(name)
  if (column === undefined) throw new DefinitionError(path, noColumn(name, source))
  // Members of a tar arrive as text: "0.5" is a weight, too. What is no number is refused by row.
  if ('column' in weights)
    return row => {
      const value = column.at(row)
      return typeof value === 'string' && value.trim() !== '' ? Number(value) : (value as number)
    }
  return balancedWeights(count, row => column.at(row))
}
