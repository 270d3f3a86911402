/** Fields that are no pictures: numbers, classes, arrays, and text, JSON or bytes of any length. */

import { DTYPES, type Dtype, elements } from '../../basics/dtype.js'
import { DecodeError } from '../../basics/errors.js'
import { decodeNpy, isNpy, type NpyArray, npyNumbers } from '../../decode/array/npy.js'
import { classTable, decodeClass } from '../../decode/text/class.js'
import { decodeJson } from '../../decode/text/json.js'
import { decodeFloat, decodeInt } from '../../decode/text/number.js'
import { decodeText } from '../../decode/text/text.js'
import { tooLong } from '../../define/limits.js'
import type { NormalField, NormalOp } from '../../define/types.js'
import { copyInto } from '../../system/memory/copy.js'
import type { DenseProgram, FieldValue, Placed, RowContext, UserMap, VaryingProgram } from '../field.js'
import { arrayOf, encoder, rangeOf } from './encode.js'
import { unpacker } from './unpack.js'

/** The random source of a field's own function is keyed like any operator's. */
const MAP: NormalOp = { name: 'map', ordinal: 0, params: {} }

/** Passes a decoded value through the user's function, where there is one, and on; at once unless that is asynchronous. */
function mapped<T, R>(
  field: NormalField,
  map: UserMap | undefined,
  value: T,
  context: RowContext,
  then: (value: T) => R,
): R | Promise<R> {
  if (map === undefined) return then(value)
  const result = map(value, context.random(field.name, MAP))
  return result instanceof Promise ? result.then(then as (value: unknown) => R) : then(result as T)
}

/** Refuses what a dtype of integers can't hold: it is never rounded or cut. (bool is whether a number is not 0.) */
function checker(dtype: Dtype): (number: number) => void {
  const range = rangeOf(dtype)
  if (range === undefined || dtype === 'bool') return () => undefined
  const [least, most] = range
  return number => {
    if (Number.isInteger(number) && number >= least && number <= most) return
    throw new DecodeError(
      `${number} is no ${dtype}, which holds integers from ${least} to ${most}: give the field another dtype`,
    )
  }
}

/** int, float, class: one number. Where the batch mixes labels, the row is a one-hot vector of all classes. */
export function compileNumber(field: NormalField, map?: UserMap): DenseProgram {
  const { dtype, shape } = field.layout
  const [min, max] = rangeOf(dtype) ?? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  const classes = classTable(field.classes ?? [])
  const decode = (value: FieldValue): number => {
    if (field.as === 'class') return decodeClass(value, classes)
    return field.as === 'int' ? decodeInt(value, min, max) : decodeFloat(value)
  }
  const encode = encoder(dtype)
  const check = checker(dtype)
  const width = elements(shape)
  const write = (number: number, at: number, context: RowContext): void => {
    if (typeof number !== 'number')
      throw new DecodeError(
        `map gave ${number === null ? 'nothing' : typeof number} where a number is needed`,
      )
    const row = arrayOf(dtype, context.work.u8.buffer, at, width)
    if (shape.length === 0) {
      check(number)
      row[0] = encode(number)
      return
    }
    if (number < 0 || number >= width)
      throw new DecodeError(`label ${number} is not one of ${width} classes, 0 to ${width - 1}`)
    context.work.u8.fill(0, at, at + width * DTYPES[dtype].bytes)
    row[number] = encode(1)
  }
  return {
    form: 'dense',
    run: (value, at, context) =>
      mapped(field, map, decode(value), context, number => write(number, at, context)),
  }
}

/**
 * npy: an array of exactly the field's shape. Bytes without NumPy's header are taken as the elements themselves, in
 * the field's dtype, if their number is right.
 */
export function compileArray(field: NormalField, map?: UserMap): DenseProgram {
  const { dtype, shape } = field.layout
  const unpack = unpacker(field)
  const write = (array: NpyArray, at: number, context: RowContext): void => {
    if (array.shape !== shape && !sameShape(array.shape, shape)) {
      throw new DecodeError(`the array has shape [${array.shape}], the field [${shape}]`)
    }
    putArray(array, dtype, at, context)
  }
  return {
    form: 'dense',
    run: (value, at, context) =>
      mapped(field, map, arrayFrom(unpack(value), dtype, shape), context, array => write(array, at, context)),
  }
}

/** npy of varying length along its first axis. */
export function compileVaryingArray(field: NormalField, map?: UserMap): VaryingProgram {
  const { dtype, shape } = field.layout
  const unpack = unpacker(field)
  const place = (array: NpyArray, context: RowContext): Placed => {
    const rest = array.shape.slice(1)
    if (array.shape.length === 0 || rest.length !== shape.length || rest.some((n, i) => n !== shape[i])) {
      throw new DecodeError(
        `the array has shape [${array.shape}], the field [n${shape.map(n => `, ${n}`).join('')}]`,
      )
    }
    if (array.shape[0] > field.layout.max!) throw tooLong(array.shape[0], field.layout.max!)
    const at = context.work.take(elements(array.shape) * DTYPES[dtype].bytes)
    putArray(array, dtype, at, context)
    return { at, length: array.shape[0] }
  }
  return {
    form: 'varying',
    run: (value, context) =>
      mapped(field, map, arrayFrom(unpack(value), dtype, [undefined, ...shape]), context, array =>
        place(array, context),
      ),
  }
}

/** text, json and bytes: u8 of any length. */
export function compileText(field: NormalField, map?: UserMap): VaryingProgram {
  const unpack = unpacker(field)
  const decode = (value: FieldValue): unknown => {
    if (field.as === 'bytes') return unpack(value)
    const decoded = field.as === 'json' ? decodeJson(value) : decodeText(value)
    // Without a function the bytes go on as they are, now that they are known to be valid.
    return map ? decoded : value
  }
  const place = (value: unknown, context: RowContext): Placed => {
    const bytes = bytesFrom(value, field.as === 'json')
    if (bytes.length > field.layout.max!) throw tooLong(bytes.length, field.layout.max!)
    const at = context.work.take(bytes.length)
    copyInto(context.work, bytes, at)
    return { at, length: bytes.length }
  }
  return {
    form: 'varying',
    run: (value, context) => mapped(field, map, decode(value), context, result => place(result, context)),
  }
}

const utf8 = new TextEncoder()

function bytesFrom(value: unknown, json: boolean): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string' && !json) return utf8.encode(value)
  if (json) return utf8.encode(written(value))
  return utf8.encode(String(value))
}

/** As JSON. What a function returns may be nested too deeply, go round in circles, or be no JSON. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new DecodeError(`its value can't be written as JSON: ${(cause as Error).message}`, { cause })
  }
}

function arrayFrom(value: FieldValue, dtype: Dtype, shape: readonly (number | undefined)[]): NpyArray {
  if (!(value instanceof Uint8Array)) {
    throw new DecodeError(
      `expected the bytes of an array, got ${JSON.stringify(value)} from the index: check "from"`,
    )
  }
  if (isNpy(value) || dtype === 'bf16') return decodeNpy(value)
  const rest = shape.reduce<number>((product, n) => product * (n ?? 1), 1) * DTYPES[dtype].bytes
  const length = shape[0] === undefined ? value.length / rest : undefined
  if (length === undefined ? value.length !== rest : !Number.isInteger(length)) {
    throw new DecodeError(
      `no .npy file (it has no such magic), and its ${value.length} bytes are not the ${rest} of ${dtype} [${shape.map(n => n ?? 'n').join(', ')}]`,
    )
  }
  // Most rows have the field's own shape: that one is passed on, not copied.
  const own = length === undefined ? (shape as number[]) : [length, ...(shape.slice(1) as number[])]
  return { dtype, shape: own, data: value }
}

/** Writes an array's elements in the field's dtype: as they are where it is the same, else one by one, if it holds them. */
function putArray(array: NpyArray, dtype: Dtype, at: number, context: RowContext): void {
  if (array.dtype === dtype) {
    copyInto(context.work, array.data, at)
    return
  }
  const numbers = npyNumbers(array)
  const encode = encoder(dtype)
  const check = checker(dtype)
  const out = arrayOf(dtype, context.work.u8.buffer, at, numbers.length)
  for (let i = 0; i < numbers.length; i++) {
    check(numbers[i])
    out[i] = encode(numbers[i])
  }
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((n, i) => n === b[i])
}
