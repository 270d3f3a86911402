/**
 * Rows of tokens, as the engine makes them without a sample: which stretches of the files a row is made of. Workers read these
 * and widen them straight into the slot (engine/make/token-maker.ts).
 *
 *   row      place 0 1 2 3 4 5 6 7        input[p] is the token of place p, target[p] that of place p + 1
 *   stretch        ├───────┤              at place 0, 5 tokens, of which the last is only a target
 *   stretch                ├─────┤        at place 4, not joined: another document
 *
 * Stretches are written in their order, and each begins where the places of the one before end. A joined one goes on with the
 * same text (at the border of two files): its first token is also the target of the place before it.
 */
import type { StoredDtype } from '../../core/basics/array.js'
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

export interface TokenRows {
  readonly files: readonly TokenPlace[]
  /** Places of a row. */
  readonly length: number
  /** Columns that are the tokens, by how many places they are ahead: `{input: 0, target: 1}`, `{tokens: 0, labels: 0}`. */
  readonly columns: Readonly<Record<string, number>>
  /** The columns that train: of places without a target they hold −100, others the token `padding`. */
  readonly targets: readonly string[]
  readonly padding: number
  /** Tokens from this on are an error. */
  readonly vocabulary?: number
  /** Writes the stretches of a row to `out`, which is empty. */
  stretches(row: number, epoch: number, out: Stretches): void
  /** Names a place of a file for messages: its document, and the offset in that. */
  placeName?(file: number, token: number): string
}

/** The stretches of one row. */
export class Stretches {
  count = 0
  /** Places with a token; those behind are padding. */
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
