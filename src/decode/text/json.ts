/** JSON values. */
import { isTiled } from '../../basics/array.js'
import { DecodeError } from '../../basics/errors.js'
import { decodeText, shown, type Value } from './text.js'

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }

/** Bytes of JSON that are parsed, unless a field says less: in memory that may become half a gigabyte. */
const MOST = 16 << 20

export function decodeJson(value: Value): JsonValue {
  if (typeof value === 'number') return value
  if (typeof value !== 'bigint' && !isTiled(value) && value.length > MOST) {
    throw new DecodeError(`has ${value.length} bytes of JSON, more than the ${MOST} that are parsed`)
  }
  const text = decodeText(value).replace(/^\ufeff/, '')
  if (text.trim() === '') throw new DecodeError('is not JSON: it is empty')
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw new DecodeError(`is not JSON (${(cause as Error).message}): it begins with ${shown(text)}`, {
      cause,
    })
  }
}
