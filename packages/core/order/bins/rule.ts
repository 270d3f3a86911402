/**
 * What a bin may hold: a batch of so many tokens. Samples are put into it one after the other, until the next one does not
 * fit. Tokens are counted as they lie in the batch: rows that are padded to the longest of them count rows × longest.
 */

/** Plain data. */
export interface BinRule {
  /** Tokens at most. */
  tokens: number
  /** Rows at most. */
  rows: number
  /** Rows are padded to the longest, rounded up to `multiple`; never shorter than `least`. */
  pad?: { multiple: number; least: number }
}

/** Tokens that one sample takes in a bin of its own. */
export function placesOf({ pad }: BinRule, length: number): number {
  return pad === undefined ? length : Math.max(pad.least, Math.ceil(length / pad.multiple) * pad.multiple)
}

/** A bin that is being filled. */
export class Filling {
  rows = 0
  /** Tokens of all rows; or, where rows are padded, places of each. */
  private filled = 0

  private readonly padded: boolean

  constructor(private readonly rule: BinRule) {
    this.padded = rule.pad !== undefined
  }

  /** Puts a sample into the bin, or, where it does not fit, into a new one: then true. The first one begins a bin, too. */
  add(length: number): boolean {
    const places = this.padded ? placesOf(this.rule, length) : length
    const filled = this.padded ? Math.max(this.filled, places) : this.filled + places
    const all = this.padded ? filled * (this.rows + 1) : filled
    if (this.rows > 0 && this.rows < this.rule.rows && all <= this.rule.tokens) {
      this.rows++
      this.filled = filled
      return false
    }
    this.rows = 1
    this.filled = places
    return true
  }
}
