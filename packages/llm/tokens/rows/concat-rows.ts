/**
 * Rows that are cut out of the stream: row r begins at token r · length + phase. With the shift here it has one token more than
 * it has places, which is the last target and the next row's first input.
 */

import { hashText, Random } from '../../../core/basics/random.js'
import type { Stretches } from '../token-rows.js'
import type { RowPlace, RowPlaces } from './row-places.js'
import { Stream, type StreamRuns } from './stream.js'

export interface ConcatData {
  pack: 'concat'
  runs: StreamRuns
  length: number
  /** Tokens that a row has more than places: 1 with the shift here. */
  extra: 0 | 1
  count: number
  /** The key of the phase; undefined: all epochs are cut at the same places. */
  seed?: number
}

/** Rows of a stream of `tokens`. With a phase they are as many in every epoch. */
export function concatCount(tokens: number, length: number, moves: boolean, tail: 'drop' | 'pad'): number {
  if (tail === 'pad') return Math.max(0, Math.ceil((tokens - 1) / length))
  return Math.max(0, moves ? Math.floor(tokens / length) - 1 : Math.floor((tokens - 1) / length))
}

export class ConcatRows implements RowPlaces {
  readonly count: number
  readonly moves: boolean
  readonly crosses = true
  private readonly stream: Stream
  // Two epochs, since makers begin the next one before this one ends.
  private readonly epochs = [-1, -1]
  private readonly phases = [0, 0]

  constructor(private readonly data: ConcatData) {
    this.count = data.count
    this.moves = data.seed !== undefined
    this.stream = new Stream(data.runs)
  }

  stretches(row: number, epoch: number, out: Stretches): void {
    const { length, extra } = this.data
    const from = row * length + this.phase(epoch)
    const to = Math.min(from + length + extra, this.stream.tokens)
    // The last row of a padded stream may have nothing but padding, or one token, which is no input.
    if (to - from > extra) this.stream.stretches(from, to, 0, out)
  }

  begin(row: number, epoch: number): RowPlace {
    const from = row * this.data.length + this.phase(epoch)
    return this.stream.locate(Math.min(from, this.stream.tokens - 1))
  }

  phase(epoch: number): number {
    const { seed, length } = this.data
    if (seed === undefined) return 0
    const way = epoch % 2
    if (this.epochs[way] !== epoch) {
      this.phases[way] = phaseOf(seed, epoch, length)
      this.epochs[way] = epoch
    }
    return this.phases[way]
  }
}

const PHASE_KEY = hashText('phase of tokens')

/** From 0 to `length` − 1. */
export function phaseOf(seed: number, epoch: number, length: number): number {
  return new Random().key(seed, epoch, 0, PHASE_KEY).int(length)
}
