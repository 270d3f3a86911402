/** Fields of one number: int, float, class. */
import { isFloatDtype, isTiled, type TiledArray } from '../../../core/basics/array.js'
import { DTYPES, type Dtype, elements, rangeOf } from '../../../core/basics/dtype.js'
import { READERS } from '../../../core/basics/element.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { isNpy, openNpy } from '../../../core/basics/npy/file.js'
import { plainArray } from '../../../core/basics/plain-array.js'
import { trimBlanks } from '../../../core/basics/trim.js'
import type { NormalField, NormalOp } from '../../../core/define/types.js'
import type { DenseProgram, FieldValue, RowContext, UserMap } from '../../../core/engine/make/program.js'
import { classTable, decodeClass } from '../../decode/text/class.js'
import { decodeFloat, decodeInt, decodeWideInt } from '../../decode/text/number.js'
import { decodeText, shown } from '../../decode/text/text.js'
import type { NormalizeParams } from '../../kinds/number-operators.js'
import { arrayOf, encoder } from './encode.js'
import { mapped } from './mapped.js'
import { putArray } from './put-array.js'

/** Refuses what a dtype of integers can't hold: it is never rounded or cut. (bool is whether a number is not 0.) */
export function checker(dtype: Dtype): (number: number) => void {
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

const SAFE = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const

/** int, float, class: one number. Where the batch mixes labels, the row is a one-hot vector of all classes. */
export function compileNumber(field: NormalField, map?: UserMap): DenseProgram {
  const { as } = field
  const { dtype, shape } = field.layout
  // What is clamped is held to the range when that is done.
  const [min, max] = (field.apply.length === 0 && rangeOf(dtype)) || SAFE
  const classes = classTable(field.classes ?? [])
  // Functions, labels and names have to do with numbers; anything else may have 64 bits, all of which count.
  const change = compileNumberOps(field.apply)
  const wide = map === undefined && shape.length === 0 && as !== 'class' && change === undefined
  const decode = (value: FieldValue): number | bigint => {
    if (as === 'class') return decodeClass(value, classes)
    if (as === 'float') return decodeFloat(value)
    return wide && dtype === 'i64' ? decodeWideInt(value) : decodeInt(value, min, max)
  }
  const encode = encoder(dtype)
  const check = checker(dtype)
  const width = elements(shape)
  const write = (decoded: number | bigint, at: number, context: RowContext): void | Promise<void> => {
    const number = change !== undefined && typeof decoded === 'number' ? change(decoded, 0) : decoded
    if (typeof number === 'bigint' && wide) return putArray(wideArray(number), dtype, at, context)
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
    ...(map === undefined && { takes: 'number' }),
    run(value, at, context) {
      const plain = value instanceof Uint8Array ? fromBytes(value) : single(value)
      if (typeof plain === 'object' && isTiled(plain)) return putArray(plain, dtype, at, context)
      return mapped(field, map, decode(plain), context, number => write(number, at, context))
    },
  }

  /** Text, or a .npy file: by these come arrays of a dataset in Python. */
  function fromBytes(bytes: Uint8Array): FieldValue {
    return isNpy(bytes) ? single(openNpy(bytes)) : bytes
  }

  /** What is given as an array or a bigint: that array where all of its bits count, else its number. */
  function single(value: FieldValue): FieldValue {
    if (typeof value === 'bigint' && wide) return wideArray(value)
    if (!isTiled(value)) return value
    checkScalar(value, as)
    return wide ? value : scalarOf(value)
  }
}

/** Refuses an array that is no single number, or floats where integers are meant. */
function checkScalar(array: TiledArray, as: NormalField['as']): void {
  if (elements(array.shape) !== 1) throw new DecodeError(`is ${shown(array)}, not a single number`)
  if (as !== 'float' && isFloatDtype(array.dtype))
    throw new DecodeError(`is ${array.dtype}, and no integer: read it as "float", or store integers`)
}

/** A value as a number, in f64: a number, its text, or an array of one element. */
export function singleNumber(value: FieldValue): number {
  if (value instanceof Uint8Array && isNpy(value)) return singleNumber(openNpy(value))
  if (!isTiled(value)) return decodeFloat(value)
  checkScalar(value, 'float')
  return Number(scalarOf(value))
}

/** The name of a class: text, a number, or an array of one integer. */
export function classNameOf(value: FieldValue): string {
  if (value instanceof Uint8Array && isNpy(value)) return classNameOf(openNpy(value))
  if (!isTiled(value)) return trimBlanks(decodeText(value))
  checkScalar(value, 'class')
  return String(scalarOf(value))
}

function scalarOf(array: TiledArray): number | bigint {
  const { dtype, data } = plainArray(array)
  return READERS[dtype](new DataView(data.buffer, data.byteOffset, data.byteLength), 0)
}

/** An integer of 64 bits as an array of one element, so that it is converted as arrays are. */
function wideArray(value: bigint): TiledArray {
  const dtype = value < 0n ? 'i64' : 'u64'
  const view = new DataView(new ArrayBuffer(8))
  view.setBigInt64(0, value, true)
  if (BigInt(READERS[dtype](view, 0)) !== value) throw new DecodeError(`${value} has more than 64 bits`)
  return { dtype, shape: [], tiles: [{ data: new Uint8Array(view.buffer) }] }
}

// ------------------------------------------------------------------ operators

/** `column` counts the columns of a vector; of a single number it is 0. */
type NumberChange = (value: number, column: number) => number

/** Undefined where nothing is done. */
export function compileNumberOps(ops: readonly NormalOp[]): NumberChange | undefined {
  const [first, ...rest] = ops.map(compileOp)
  return first && rest.reduce((before, op) => (value, column) => op(before(value, column), column), first)
}

function compileOp({ name, params }: NormalOp): NumberChange {
  if (name === 'clamp') {
    const [low, high] = params.range as [number, number]
    return value => Math.min(Math.max(value, low), high)
  }
  const { mean, std } = params as Required<NormalizeParams>
  const one = (list: readonly number[]): boolean => list.length === 1
  return (value, column) => (value - mean[one(mean) ? 0 : column]) / std[one(std) ? 0 : column]
}
