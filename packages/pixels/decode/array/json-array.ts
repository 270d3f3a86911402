/** Lists of numbers as JSON text, such as a list of a dataset in Python that has gaps: arrays of one shape. */
import type { TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { decodeJson, type JsonValue } from '../text/json.js'

/** Lists in lists: an array has no more axes. */
const MOST_AXES = 32

/** The array of a list, of lists of equal length, of numbers. `null` is NaN among floats, and bad among integers. */
export function jsonArray(text: string, floats: boolean): TiledArray<Uint8Array> {
  const list = decodeJson(text)
  const shape: number[] = []
  for (let inner = list; Array.isArray(inner); inner = inner[0]) shape.push(inner.length)
  if (shape.length > MOST_AXES)
    throw new DecodeError(
      `has lists that lie ${shape.length} deep in each other: an array has at most ${MOST_AXES} axes`,
    )
  const numbers: number[] = []
  flatten(list, shape, [], floats, numbers)
  const elements = floats ? Float64Array.from(numbers) : BigInt64Array.from(numbers, BigInt)
  return { dtype: floats ? 'f64' : 'i64', shape, tiles: [{ data: new Uint8Array(elements.buffer) }] }
}

function flatten(
  value: JsonValue | undefined,
  shape: readonly number[],
  index: readonly number[],
  floats: boolean,
  out: number[],
): void {
  const axis = index.length
  const where = `element [${index.join(', ')}] of the list`
  if (axis < shape.length) {
    if (!Array.isArray(value) || value.length !== shape[axis])
      throw new DecodeError(`${where} is not a list of ${shape[axis]}, as those before it are`)
    for (const [i, inner] of value.entries()) flatten(inner, shape, [...index, i], floats, out)
  } else if (value === null && floats) out.push(NaN)
  else if (typeof value !== 'number')
    throw new DecodeError(`${where} is ${JSON.stringify(value)?.slice(0, 40)}, which is no number`)
  else if (!floats && !Number.isSafeInteger(value))
    throw new DecodeError(`${where} is ${value}, which is no integer that JSON holds exactly`)
  else out.push(value)
}
