/**
 * Types of CSV columns: declared, or inferred from the first rows. Text is always safe: a field of numbers reads it as well.
 * So digits that a number would lose (leading zeros, as in postal codes) make a column text.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { Column } from '../../../core/source/source.js'
import { MOST_DIGITS } from '../json/number.js'

/** What the cells of a CSV column are. Text can be read as any field. */
export type CsvType = 'int' | 'float' | 'bool' | 'text'

const INTEGER = /^-?(?:0|[1-9]\d*)$/
const DIGITS = /^[-+]?\d+$/
const DECIMAL = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/
const SPECIAL = /^([-+]?)(?:inf|infinity|nan)$/i
const TRUTH: Readonly<Record<string, number>> = { true: 1, True: 1, TRUE: 1, false: 0, False: 0, FALSE: 0 }
const LEADING_ZERO = /^[-+]?0\d/

/** The narrowest type of a cell; undefined for an empty one. */
export function typeOfCell(text: string): CsvType | undefined {
  if (text === '') return undefined
  if (Object.hasOwn(TRUTH, text)) return 'bool'
  const word = text.trim()
  if (INTEGER.test(word)) return 'int'
  return (DECIMAL.test(word) && !LEADING_ZERO.test(word)) || SPECIAL.test(word) ? 'float' : 'text'
}

/** The type that holds values of both. */
export function commonType(a: CsvType | undefined, b: CsvType | undefined): CsvType | undefined {
  if (a === undefined || a === b) return b
  if (b === undefined) return a
  const numbers = a !== 'text' && b !== 'text' && a !== 'bool' && b !== 'bool'
  return numbers ? 'float' : 'text'
}

/**
 * A cell as a value of its column; undefined for an empty one. `""` is an empty text. Integers that a number would round are
 * bigints, but for a column that was declared to be of floats.
 */
export function cellValue(
  text: string,
  quoted: boolean,
  type: CsvType,
  declared: boolean,
): Column | undefined {
  if (text === '') return quoted && type === 'text' ? '' : undefined
  if (type === 'text') return text
  const value = type === 'bool' ? truthIn(text) : numberIn(text.trim(), type, declared)
  if (value !== undefined) return value
  throw new DecodeError(`${JSON.stringify(text.slice(0, 40))} is no ${type}`)
}

function truthIn(text: string): number | undefined {
  if (Object.hasOwn(TRUTH, text)) return TRUTH[text]
  return text === '1' ? 1 : text === '0' ? 0 : undefined
}

function exactInteger(word: string): number | bigint {
  const number = Number(word)
  if (Number.isSafeInteger(number)) return number + 0
  if (word.length > MOST_DIGITS) throw new DecodeError(`it is an integer of ${word.length} digits`)
  return BigInt(word.replace('+', ''))
}

function numberIn(word: string, type: 'int' | 'float', declared: boolean): number | bigint | undefined {
  if (type === 'int') return DIGITS.test(word) ? exactInteger(word) : undefined
  if (DECIMAL.test(word)) {
    const number = Number(word)
    // An identifier keeps its last digits, also where a NaN or a fraction made the column one of floats.
    const wide = !declared && Math.abs(number) > Number.MAX_SAFE_INTEGER && DIGITS.test(word)
    return wide ? exactInteger(word) : number
  }
  const special = SPECIAL.exec(word)
  if (special === null) return undefined
  if (/nan/i.test(word)) return Number.NaN
  return special[1] === '-' ? -Infinity : Infinity
}
