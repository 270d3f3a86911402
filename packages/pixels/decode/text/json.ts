/** JSON values. */
import { bytesOfStored, isFloatDtype, isTiled, type TiledArray } from '../../../core/basics/array.js'
import { READERS } from '../../../core/basics/element.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { plainArray } from '../../../core/basics/plain-array.js'
import type { FieldValue } from '../../../core/engine/make/program.js'
import { decodeText, shown } from './text.js'

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }

/** Bytes of JSON that are parsed, unless a field says less: in memory that may become half a gigabyte. */
const MOST = 16 << 20

/** Lists and objects in each other: Python's json has the same limit. What goes through deeper ones calls itself too often. */
const DEEPEST = 1000

export function decodeJson(value: FieldValue): JsonValue {
  if (typeof value === 'number') return value
  if (isTiled(value)) return JSON.parse(listText(value)) as JsonValue
  if (typeof value !== 'bigint' && value.length > MOST) {
    throw new DecodeError(`has ${value.length} bytes of JSON, more than the ${MOST} that are parsed`)
  }
  return parsed(withoutMark(decodeText(value)))
}

/**
 * A value as JSON: text and bytes are JSON already, and stay as they are without a byte order mark, which few parsers take;
 * a number or an array is written once. NaN and infinities, which JSON lacks, are null.
 */
export function jsonText(value: FieldValue): Uint8Array | string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return JSON.stringify(value)
  if (isTiled(value)) return listText(value)
  decodeJson(value)
  if (typeof value === 'string') return withoutMark(value)
  return value[0] === 0xef ? value.subarray(3) : value // no JSON begins with another character of this first byte
}

const withoutMark = (text: string): string => text.replace(/^\ufeff/, '')

/** The elements of an array, as lists in lists. */
function listText(array: TiledArray): string {
  const { dtype, shape, data } = plainArray(array)
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const size = bytesOfStored(dtype)
  let at = 0
  const text = (axis: number): string => {
    if (axis < shape.length) return `[${Array.from({ length: shape[axis] }, () => text(axis + 1)).join()}]`
    const element = READERS[dtype](view, size * at++)
    return isFloatDtype(dtype) ? JSON.stringify(element) : String(element)
  }
  return text(0)
}

function parsed(text: string): JsonValue {
  if (text.trim() === '') throw new DecodeError('is not JSON: it is empty')
  if (text.length > 2 * DEEPEST && isTooDeep(text))
    throw new DecodeError(
      `is JSON whose lists and objects lie more than ${DEEPEST} deep in each other: write it flatter`,
    )
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw new DecodeError(`is not JSON (${(cause as Error).message}): it begins with ${shown(text)}`, {
      cause,
    })
  }
}

/** Strings end where JSON says: in other texts that is told by the parser. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      do at = text.indexOf('"', at + 1)
      while (at > 0 && isEscaped(text, at))
      if (at < 0) return false
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > DEEPEST) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote
  while (text.charCodeAt(before - 1) === 0x5c) before--
  return (quote - before) % 2 === 1
}
