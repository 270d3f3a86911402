/**
 * Rows of numbers, in any of the ways people store them: a JSON array of arrays, an npy array of two dimensions,
 * or text with one row a line, numbers separated by spaces, tabs, commas or semicolons.
 */
import { isTiled } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { decodeNpy, isNpy } from '../../../core/basics/npy/file.js'
import { numbersOf, type PlainArray, plainArray } from '../../../core/basics/plain-array.js'
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decodeJson } from '../text/json.js'
import { decodeFloat } from '../text/number.js'
import { decodeText, shown } from '../text/text.js'

/** `count` rows of `columns` numbers each. */
export interface Rows {
  count: number
  columns: number
  values: Float64Array
}

/** Reads rows of one of the `allowed` widths. Without any row, the first of them is taken. */
function decodeRows(value: FieldValue, what: string, allowed: readonly number[]): Rows {
  if (typeof value === 'number' || typeof value === 'bigint')
    throw new DecodeError(`${shown(value)} is a number, not ${what}`)
  const rows = isTiled(value)
    ? fromArray(plainArray(value), what)
    : typeof value === 'object' && isNpy(value)
      ? fromArray(decodeNpy(value), what)
      : fromText(value, what)
  if (rows.count === 0) return { count: 0, columns: allowed[0], values: new Float64Array(0) }
  if (!allowed.includes(rows.columns)) {
    throw new DecodeError(`${what} have ${allowed.join(' or ')} numbers each, but here are ${rows.columns}`)
  }
  const bad = rows.values.findIndex(number => !Number.isFinite(number))
  if (bad >= 0) {
    throw new DecodeError(
      `row ${Math.floor(bad / rows.columns)} of ${what} has the value ${rows.values[bad]}`,
    )
  }
  return rows
}

function fromArray(array: PlainArray, what: string): Rows {
  const [count, columns] = array.shape
  if (array.shape.length !== 2 && count !== 0) {
    throw new DecodeError(
      `${what} need an array of two dimensions, but its shape is (${array.shape.join(', ')})`,
    )
  }
  return { count, columns, values: numbersOf(array) }
}

function fromText(value: Uint8Array | string, what: string): Rows {
  const text = decodeText(value)
  return fromLists(text.trimStart().startsWith('[') ? fromJson(text, what) : fromLines(text, what), what)
}

function fromJson(text: string, what: string): number[][] {
  const list = decodeJson(text)
  if (!Array.isArray(list)) throw new DecodeError(`${what} are a JSON array of arrays of numbers`)
  return list.map((row, i) => {
    if (!Array.isArray(row)) throw new DecodeError(`row ${i} of ${what} is ${typeof row}, not an array`)
    return row.map(number => {
      if (typeof number === 'number') return number
      const found =
        typeof number === 'object'
          ? number === null
            ? 'null'
            : 'a list or an object'
          : shown(String(number))
      throw new DecodeError(`row ${i} of ${what} has ${found}, which is not a number`)
    })
  })
}

function fromLines(text: string, what: string): number[][] {
  const lines = text.split(/\r?\n/).map(line => line.trim())
  return lines.flatMap((line, i) => {
    if (line === '') return []
    try {
      return [line.split(/[\s,;]+/).map(decodeFloat)]
    } catch (cause) {
      throw new DecodeError(`line ${i + 1} of ${what}: ${(cause as Error).message}`, { cause })
    }
  })
}

function fromLists(lists: readonly number[][], what: string): Rows {
  const columns = lists[0]?.length ?? 0
  const odd = lists.findIndex(row => row.length !== columns)
  if (odd >= 0) {
    throw new DecodeError(
      `row ${odd} of ${what} has ${lists[odd].length} numbers, the rows before have ${columns}`,
    )
  }
  return { count: lists.length, columns, values: Float64Array.from(lists.flat()) }
}

/** Boxes [x1, y1, x2, y2] or [x1, y1, x2, y2, label], in pixels of the picture as its field reads it. */
export function decodeBoxes(value: FieldValue): Rows {
  const rows = decodeRows(value, 'boxes', [4, 5])
  for (let i = 0; i < rows.count; i++) {
    const [x1, y1, x2, y2] = rows.values.subarray(i * rows.columns)
    if (x2 >= x1 && y2 >= y1) continue
    throw new DecodeError(
      `box ${i} is [${x1}, ${y1}, ${x2}, ${y2}], which ends before it begins: boxes are [x1, y1, x2, y2], ` +
        'not [x, y, width, height]',
    )
  }
  return rows
}

/** Points [x, y] or [x, y, label], likewise. */
export const decodePoints = (value: FieldValue): Rows => decodeRows(value, 'points', [2, 3])
