/**
 * One JSON value as a column: numbers (integers that a number would round as bigint), text, true and false as 1 and 0, lists
 * of numbers as arrays (list.ts). Null is no value. Objects and other lists stay JSON text.
 */
import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../../../core/basics/errors.js'
import type { Column } from '../../../core/source/source.js'
import { numberList } from './list.js'
import { jsonNumber, shortInteger } from './number.js'

const [QUOTE, BACKSLASH, OPEN_LIST, OPEN_OBJECT] = [0x22, 0x5c, 0x5b, 0x7b]
/** Half of a surrogate pair. */
const LONE = /\p{Surrogate}/u

/** The value at [from, to); undefined for null. */
export function jsonColumn(bytes: Buffer, from: number, to: number, name: string): Column | undefined {
  const first = bytes[from]
  if (first === QUOTE) return textIn(bytes, from, to, name)
  if (first === OPEN_LIST) return numberList(bytes, from, to) ?? plainText(bytes, from, to, name)
  if (first === OPEN_OBJECT) return plainText(bytes, from, to, name)
  const short = shortInteger(bytes, from, to)
  if (short !== undefined) return short
  return wordValue(bytes.toString('latin1', from, to), name)
}

function wordValue(word: string, name: string): number | bigint | undefined {
  if (word === 'null') return undefined
  if (word === 'true') return 1
  if (word === 'false') return 0
  const number = jsonNumber(word)
  if (number !== undefined) return number
  throw new DecodeError(`is no JSON: the value of "${name}" is ${JSON.stringify(word.slice(0, 40))}`)
}

function textIn(bytes: Buffer, from: number, to: number, name: string): string {
  const slash = bytes.indexOf(BACKSLASH, from)
  if (slash < 0 || slash >= to) return plainText(bytes, from + 1, to - 1, name)
  const quoted = plainText(bytes, from, to, name)
  let text: string
  try {
    text = JSON.parse(quoted) as string
  } catch (cause) {
    throw new DecodeError(`is no JSON: the text of "${name}": ${(cause as Error).message}`, { cause })
  }
  if (!LONE.test(text)) return text
  throw new DecodeError(
    `the text of "${name}" has half of a surrogate pair (\\ud800–\\udfff), which is no character: write it again`,
  )
}

/** Bytes as text, once they are known to be valid. */
function plainText(bytes: Buffer, from: number, to: number, name: string): string {
  if (isUtf8(bytes.subarray(from, to))) return bytes.toString('utf8', from, to)
  throw new DecodeError(`the text of "${name}" is not UTF-8: convert the file, or write it again`)
}
