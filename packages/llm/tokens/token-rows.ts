/**
 * Rows of tokens as stretches of their files. Workers read these and widen them straight into the slot, without samples
 * (token-maker.ts).
 *
 *   row      place 0 1 2 3 4 5 6 7        input[p] is the token of place p, target[p] that of place p + 1
 *   stretch        ├───────┤              at place 0, 5 tokens, of which the last is only a target
 *   stretch                ├─────┤        at place 4, not joined: another document
 *
 * Stretches are written in their order, and each begins where the places of the one before end. A joined one goes on with the
 * same text (at the border of two files): its first token is also the target of the place before it.
 */
import type { StoredDtype } from '../../core/basics/array.js'
import type { RowStretches, TokenRows } from '../../core/source/token-rows.js'
import type { Version } from '../../core/store/store.js'

/** A file of tokens: where they begin and what they are. */
export interface TokenPlace {
  /** As stores name it. */
  path: string
  version?: Version
  /** Byte of the first token. */
  begin: number
  dtype: Extract<StoredDtype, 'u8' | 'u16' | 'u32' | 'i32' | 'i64'>
}

/** Those of a source of token files. */
export interface TokenFileRows extends TokenRows {
  readonly files: readonly TokenPlace[]
  /** Places of a row. */
  readonly length: number
  /** The token of places without one, in columns that don't train. */
  readonly padding: number
  /** Tokens from this on are an error. */
  readonly vocabulary?: number
}

/** The stretches of one row. */
export class Stretches implements RowStretches {
  count = 0
  end = 0
  /** The number of its file; −1: one token that stands in no file, and is put in: `offset` is that token. */
  file = new Int32Array(8)
  /** First token, counted in the file, and how many. */
  offset = new Float64Array(8)
  tokens = new Int32Array(8)
  /** Place of the first token in the row. */
  place = new Int32Array(8)
  joined = new Uint8Array(8)

  clear(): void {
    this.count = 0
    this.end = 0
  }

  add(file: number, offset: number, tokens: number, place: number, joined = false): void {
    if (this.count === this.file.length) this.grow()
    const i = this.count++
    this.file[i] = file
    this.offset[i] = offset
    this.tokens[i] = tokens
    this.place[i] = place
    this.joined[i] = joined ? 1 : 0
  }

  private grow(): void {
    const twice = <T extends Int32Array | Float64Array | Uint8Array>(old: T): T => {
      const next = new (old.constructor as new (length: number) => T)(2 * old.length)
      next.set(old)
      return next
    }
    this.file = twice(this.file)
    this.offset = twice(this.offset)
    this.tokens = twice(this.tokens)
    this.place = twice(this.place)
    this.joined = twice(this.joined)
  }
}
