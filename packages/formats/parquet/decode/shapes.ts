/**
 * The shapes of rows that are lists in lists, from their levels: how many elements the lists of each depth have. Lists side by
 * side must have one length; where they have not, or one of them is null, the row's first number says so.
 */
import { NULL_LIST, RAGGED } from '../../../core/source/columnar/room.js'

const UNKNOWN = -1

export class Shapes {
  private row = -1
  /** The number that marks the row as no array; 0: it is one. */
  private fault = 0
  /** Elements of the list of each depth that is open, and of those before it in the row. */
  private readonly counts: number[]
  private readonly shape: number[]
  /** Lists that are open: those below an empty one are not there. */
  private open = 0

  /** `dims`: the numbers of a row, one behind the other. `lists`: the definition level from which on a list of each depth has an element. */
  constructor(
    private readonly dims: Uint32Array,
    private readonly lists: readonly number[],
  ) {
    this.counts = lists.map(() => 0)
    this.shape = lists.map(() => UNKNOWN)
  }

  add(repetitions: Uint8Array, definitions: Uint8Array | undefined): void {
    const { lists, counts } = this
    for (let i = 0; i < repetitions.length; i++) {
      const repetition = repetitions[i]
      if (repetition === 0) this.begin()
      else {
        this.close(repetition)
        counts[repetition - 1]++
      }
      const level = definitions === undefined ? 255 : definitions[i]
      this.open = lists.length
      for (let depth = repetition; depth < lists.length; depth++) {
        const has = level >= lists[depth]
        counts[depth] = has ? 1 : 0
        if (has) continue
        if (depth > 0 && level < lists[depth] - 1) this.fault ||= NULL_LIST
        this.open = depth + 1
        break
      }
    }
  }

  /** Ends the last row. */
  finish(): void {
    if (this.row >= 0) this.end()
  }

  private begin(): void {
    this.finish()
    this.row++
  }

  private end(): void {
    const { dims, shape, lists } = this
    this.close(0)
    for (let depth = 0; depth < lists.length; depth++)
      dims[this.row * lists.length + depth] = Math.max(0, shape[depth])
    if (this.fault !== 0) dims[this.row * lists.length] = this.fault
    this.fault = 0
    shape.fill(UNKNOWN)
  }

  /** Ends the lists from a depth on. */
  private close(from: number): void {
    const { shape, counts } = this
    for (let depth = from; depth < this.open; depth++) {
      if (shape[depth] === UNKNOWN) shape[depth] = counts[depth]
      else if (shape[depth] !== counts[depth]) this.fault ||= RAGGED
    }
  }
}
