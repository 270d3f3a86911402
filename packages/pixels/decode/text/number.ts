/** Numbers written as text, such as the `cls` of a WebDataset sample, or held by an index. */
import { isTiled, type TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decodeText, shown } from './text.js'

/** An integer from `min` to `max`, which are at most ±(2^53 − 1). */
export function decodeInt(
  value: FieldValue,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): number {
  const number = parseInteger(value)
  if (!Number.isInteger(number)) {
    throw new DecodeError(
      `${shown(value)} is not an integer: a label is digits, such as "42"; names are of kind class`,
    )
  }
  if (number < min || number > max) {
    throw new DecodeError(`${shown(value)} is out of range: integers here go from ${min} to ${max}`)
  }
  return number
}

/** The same for integers of 64 bits: a bigint where a number does not hold it exactly. */
export function decodeWideInt(value: FieldValue): number | bigint {
  const number = parseInteger(value)
  if (Number.isSafeInteger(number) || typeof value === 'number' || !Number.isInteger(number))
    return decodeInt(value)
  const exact = typeof value === 'bigint' ? value : BigInt(decodeText(value).trim())
  if (exact >= LEAST && exact <= MOST) return exact
  throw new DecodeError(`${shown(value)} is out of range: integers here go from ${LEAST} to ${MOST}`)
}

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n]

/** A finite number, or one of the spellings of infinity and NaN that Python accepts. */
export function decodeFloat(value: FieldValue): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  const text = asciiText(value).trim().toLowerCase()
  if (/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/.test(text)) return Number(text)
  const special = /^([+-]?)(inf|infinity|nan)$/.exec(text)
  if (special === null) throw new DecodeError(`${shown(value)} is not a number`)
  if (special[2] === 'nan') return Number.NaN
  return special[1] === '-' ? -Infinity : Infinity
}

const MINUS = 0x2d
const ZERO = 0x30

/** Digits with an optional sign, white space around them; NaN for anything else. */
function parseInteger(value: FieldValue): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  // Labels are read once a row: one or a few ASCII digits in bytes, without a detour by strings.
  if (value instanceof Uint8Array && value.length > 0 && value.length <= 15) {
    const negative = value[0] === MINUS
    let number = 0
    let at = negative ? 1 : 0
    while (at < value.length && value[at] >= ZERO && value[at] <= ZERO + 9) {
      number = number * 10 + value[at++] - ZERO
    }
    if (at === value.length && at > (negative ? 1 : 0)) return negative && number !== 0 ? -number : number
  }
  const text = asciiText(value).trim()
  return /^[+-]?\d+$/.test(text) ? Number(text) + 0 : Number.NaN
}

/** Bytes that are no text can't be a number either: the caller says so, with the bytes. */
function asciiText(value: Uint8Array | string | TiledArray): string {
  if (isTiled(value)) return '' // no number, as the caller says
  return typeof value === 'string' ? value : Buffer.from(value).toString('latin1')
}
