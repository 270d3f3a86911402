/**
 * Collects the values of one column, flat: numbers, or texts. Where a column has both, numbers become the texts that they
 * are written as. Integers beyond 2^53 are kept as their digits, since no number of JavaScript's is equal to them.
 */
import { DecodeError } from '../../basics/errors.js'
import { type ColumnBuilder, NumberBuilder, TextBuilder } from '../index/columns.js'

/** A text of more bytes is no value to select or group by. */
const MOST_BYTES = 65536

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class ValueBuilder {
  /** Whether the texts are integers, some of them beyond 2^53. */
  digits = false
  /** Rows without a value. */
  missing = 0
  private length = 0
  private numbers: NumberBuilder | undefined = new NumberBuilder()
  private texts: TextBuilder | undefined
  private nulls: NumberBuilder | undefined

  get type(): 'number' | 'string' {
    return this.texts === undefined ? 'number' : 'string'
  }

  /** A row without a value. */
  none(): void {
    if (this.nulls === undefined) {
      this.nulls = new NumberBuilder()
      for (let row = 0; row < this.length; row++) this.nulls.push(0)
    }
    this.nulls.push(1)
    this.missing++
    this.length++
    if (this.texts === undefined) this.numbers!.push(0)
    else this.texts.push('')
  }

  number(value: number | bigint): void {
    const number = Number(value)
    const isExact = typeof value === 'number' || Number.isSafeInteger(number)
    this.filled()
    if (this.texts === undefined && isExact) this.numbers!.push(number)
    else {
      if (this.texts === undefined) this.digits = true
      this.asTexts().push(String(value))
    }
  }

  text(value: string | Uint8Array): void {
    if (value.length > MOST_BYTES)
      throw new DecodeError(
        `has ${value.length} ${typeof value === 'string' ? 'characters' : 'bytes'}: what selects or groups rows has at most ${MOST_BYTES}`,
      )
    const text = typeof value === 'string' ? value : decode(value)
    this.filled()
    this.digits = false
    this.asTexts().push(text)
  }

  columns(): Record<string, ColumnBuilder> {
    return { value: this.texts ?? this.numbers!, ...(this.nulls && { null: this.nulls }) }
  }

  private filled(): void {
    this.nulls?.push(0)
    this.length++
  }

  private asTexts(): TextBuilder {
    if (this.texts !== undefined) return this.texts
    const texts = new TextBuilder()
    const numbers = this.numbers!
    for (let row = 0; row < numbers.length; row++)
      texts.push(this.nulls?.at(row) === 1 ? '' : String(numbers.at(row)))
    this.numbers = undefined
    this.texts = texts
    return texts
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new DecodeError('has bytes that are no text: rows are selected and grouped by numbers and texts')
  }
}
