/** Numbers of JSON text: exact, so that an integer that a number would round is a bigint. */
import { DecodeError } from '../../../core/basics/errors.js'

const [MINUS, ZERO] = [0x2d, 0x30]
/** Integers of up to so many digits are numbers in any case. */
const SURE_DIGITS = 15
/** Digits of an integer: Python reads no more either, since the time it takes grows with their square. */
export const MOST_DIGITS = 4300
const NUMBER = /^-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/

/** An integer of a few digits; undefined for anything else. */
export function shortInteger(bytes: Uint8Array, from: number, to: number): number | undefined {
  const negative = bytes[from] === MINUS
  const begin = negative ? from + 1 : from
  const digits = to - begin
  if (digits < 1 || digits > SURE_DIGITS || (digits > 1 && bytes[begin] === ZERO)) return undefined
  let number = 0
  for (let at = begin; at < to; at++) {
    const digit = bytes[at] - ZERO
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return negative && number !== 0 ? -number : number
}

/** A number as JSON and Python write it; undefined where it is none. */
export function jsonNumber(word: string): number | bigint | undefined {
  const parts = NUMBER.exec(word)
  if (parts === null) {
    // Python's json writes these.
    if (word === 'NaN') return Number.NaN
    if (word === 'Infinity') return Infinity
    return word === '-Infinity' ? -Infinity : undefined
  }
  const number = Number(word)
  if (parts[1] !== undefined || parts[2] !== undefined) return number
  if (Number.isSafeInteger(number)) return number + 0
  if (word.length > MOST_DIGITS)
    throw new DecodeError(`has an integer of ${word.length} digits: write it as text`)
  return BigInt(word)
}
