/** Text, JSON and bytes: u8 of any length. */
import { isTiled, type TiledArray } from '../../../core/basics/array.js'
import { elements } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { isNpy, openNpy } from '../../../core/basics/npy/file.js'
import { type PlainArray, plainArray } from '../../../core/basics/plain-array.js'
import { tooLong } from '../../../core/define/limits.js'
import type { NormalField } from '../../../core/define/types.js'
import type {
  FieldValue,
  Placed,
  RowContext,
  UserMap,
  VaryingProgram,
} from '../../../core/engine/make/program.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import { decodeJson, jsonText } from '../../decode/text/json.js'
import { checkText, decodeText, shown } from '../../decode/text/text.js'
import { mapped } from './mapped.js'
import { unpacker } from './unpack.js'

export function compileText(field: NormalField, map?: UserMap): VaryingProgram {
  const unpack = unpacker(field)
  const decode = (given: FieldValue): unknown => {
    // Arrays of a dataset in Python come as .npy, which begins as no JSON does.
    const value = field.as === 'json' && given instanceof Uint8Array && isNpy(given) ? openNpy(given) : given
    if (field.as === 'bytes')
      return !(value instanceof Uint8Array) && isTiled(value) ? bytesOfArray(value) : unpack(value)
    if (map) return field.as === 'json' ? decodeJson(value) : decodeText(value)
    // Without a function the bytes go on as they are, once they are known to be valid.
    if (field.as === 'json') {
      // An element is a digit and a comma at least. What is too long anyway is not written.
      const least = isTiled(value) ? 2 * elements(value.shape.map(n => Math.max(n, 1))) - 1 : 0
      if (least > field.layout.max!) throw tooLong(least, field.layout.max!)
      return jsonText(value)
    }
    checkText(value)
    return value
  }
  const place = (value: unknown, context: RowContext): Placed => {
    const bytes = bytesFrom(value, field.as === 'json' && map !== undefined)
    if (bytes.length > field.layout.max!) throw tooLong(bytes.length, field.layout.max!)
    const at = context.room?.(bytes.length) ?? context.work.take(bytes.length)
    copyInto(context.work, bytes, at)
    return { at, length: bytes.length }
  }
  const isPlain = map === undefined && field.compression === undefined
  return {
    form: 'varying',
    ...(isPlain && field.as !== 'json' && { takes: field.as === 'text' ? 'text' : 'bytes' }),
    run: (value, context) => mapped(field, map, decode(value), context, result => place(result, context)),
  }
}

/** The elements of an array of bytes. */
function bytesOfArray(array: TiledArray): Uint8Array {
  const { dtype, data } = plainArray(array)
  if (dtype === 'u8' && array.shape.length <= 1) return data
  throw new DecodeError(`is ${shown(array)}, and not bytes: make the field "npy", with a shape and a dtype`)
}

const utf8 = new TextEncoder()

function bytesFrom(value: unknown, json: boolean): Uint8Array {
  if (value === undefined || (value === null && !json))
    throw new DecodeError('its function returned no value: return one, or raise an error for a bad sample')
  if (value instanceof Uint8Array) return json ? (jsonText(value) as Uint8Array) : value
  if (typeof value === 'bigint') return utf8.encode(String(value))
  if (typeof value === 'string' && !json) return utf8.encode(value)
  if (json) return utf8.encode(written(value))
  return utf8.encode(String(value))
}

/** As JSON. What a function returns may be nested too deeply, go round in circles, or be no JSON. */
function written(value: unknown): string {
  if (isPlainArray(value)) {
    const { dtype, shape, data } = value
    return jsonText({ dtype, shape, tiles: [{ data }] }) as string
  }
  try {
    // JSON.stringify would write a typed array as an object.
    return JSON.stringify(value, (_, part) =>
      ArrayBuffer.isView(part) ? Array.from(part as Uint8Array) : part,
    )
  } catch (cause) {
    throw new DecodeError(`its value can't be written as JSON: ${(cause as Error).message}`, { cause })
  }
}

function isPlainArray(value: unknown): value is PlainArray {
  return (
    (value as PlainArray | null)?.data instanceof Uint8Array && Array.isArray((value as PlainArray).shape)
  )
}
