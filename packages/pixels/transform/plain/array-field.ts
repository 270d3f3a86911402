/**
 * Arrays, of one shape or of varying length along the first axis: .npy files, and arrays of a source. Bytes without NumPy's
 * header are taken as the elements themselves, in the field's dtype, if their number is right.
 */
import { isFloatDtype, isTiled, sameShape, type TiledArray } from '../../../core/basics/array.js'
import { DTYPES, type Dtype, elements } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { isNpy, openNpy } from '../../../core/basics/npy/file.js'
import { landed, type PlainArray, plainArray } from '../../../core/basics/plain-array.js'
import { tooLong } from '../../../core/define/limits.js'
import type { RowWindow } from '../../../core/define/making.js'
import type { NormalField } from '../../../core/define/types.js'
import type {
  DenseProgram,
  FieldValue,
  Placed,
  RowContext,
  UserMap,
  VaryingProgram,
} from '../../../core/engine/make/program.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import { jsonArray } from '../../decode/array/json-array.js'
import { arrayOpsOf } from './array-ops.js'
import { cropped } from './array-views.js'
import { mapped } from './mapped.js'
import { putArray } from './put-array.js'
import { unpacker } from './unpack.js'

export function compileArray(field: NormalField, map?: UserMap): DenseProgram {
  const { dtype, shape } = field.layout
  const unpack = unpacker(field)
  const ops = arrayOpsOf(field)
  const write = (given: TiledArray, at: number, context: RowContext): void | Promise<void> => {
    const array = ops === undefined ? given : ops.move(given, context)
    if (!sameShape(array.shape, shape)) {
      throw new DecodeError(
        `the array has shape [${array.shape.join(', ')}], the field [${shape.join(', ')}]: ${shapeHint(array.shape, shape)}`,
      )
    }
    const pending = putArray(array, dtype, at, context)
    if (ops?.finish === undefined) return pending
    if (pending) return pending.then(() => ops.finish!(at, shape, context))
    ops.finish(at, shape, context)
  }
  return {
    form: 'dense',
    ...(takesElements(field, map) && shape.length === 1 && { takes: 'elements' }),
    run(value, at, context) {
      const array = arrayFrom(unpack(value), dtype, shape)
      if (map === undefined && ops === undefined && array instanceof Uint8Array)
        return copyInto(context.work, array, at)
      return withMap(field, map, tiled(array, dtype, shape), context, result => write(result, at, context))
    },
  }
}

/** Whether nothing is done to the elements. */
function takesElements(field: NormalField, map: UserMap | undefined): boolean {
  return map === undefined && field.compression === undefined && arrayOpsOf(field) === undefined
}

/** npy of varying length along its first axis. */
export function compileVaryingArray(field: NormalField, map?: UserMap): VaryingProgram {
  const { dtype, shape } = field.layout
  const open = [undefined, ...shape]
  const unpack = unpacker(field)
  const ops = arrayOpsOf(field)
  const place = (given: TiledArray, context: RowContext): Placed | Promise<Placed> => {
    // An empty list says nothing of the axes behind the first.
    if (shape.length > 0 && given.shape.length > 0 && given.shape.every(n => n === 0))
      return { at: context.room?.(0) ?? context.work.take(0), length: 0 }
    const array = ops === undefined ? given : ops.move(given, context)
    if (array.shape.length === 0 || !sameShape(array.shape.slice(1), shape)) {
      throw new DecodeError(
        `the array has shape [${array.shape.join(', ')}], the field [n${shape.map(n => `, ${n}`).join('')}]: ` +
          'only the first axis may vary; operators such as "crop" and "pad" in "apply" give the others one size',
      )
    }
    const [length] = array.shape
    if (length > field.layout.max!) throw tooLong(length, field.layout.max!)
    const at = context.room?.(length) ?? context.work.take(elements(array.shape) * DTYPES[dtype].bytes)
    const pending = putArray(array, dtype, at, context)
    const done = (): Placed => {
      ops?.finish?.(at, array.shape, context)
      return { at, length }
    }
    return pending ? pending.then(done) : done()
  }
  return {
    form: 'varying',
    ...(takesElements(field, map) && shape.length === 0 && { takes: 'elements' }),
    run: (value, context) =>
      withMap(field, map, tiled(arrayFrom(unpack(value), dtype, open), dtype, open), context, array =>
        place(array, context),
      ),
  }
}

/** Arrays of which a batch has only parts, along their one axis: those of a rank that shares its rows with others. */
export function compileWindows({ layout }: NormalField, windows: readonly RowWindow[]): DenseProgram {
  const { dtype, shape } = layout
  const { bytes } = DTYPES[dtype]
  return {
    form: 'dense',
    run(value, at, context) {
      if (!isTiled(value) || value.shape.length !== 1 || value.shape[0] !== shape[0])
        throw new DecodeError(`expected an array of ${shape[0]} elements, which is then cut`)
      for (const { from, to, at: place } of windows) {
        const pending = putArray(cropped(value, [from], [to - from]), dtype, at + place * bytes, context)
        if (pending) throw new DecodeError('an array that is not read yet is not cut')
      }
    },
  }
}

/** Passes an array through the user's function, where there is one: that gets it little-endian and in C order. */
function withMap<R>(
  field: NormalField,
  map: UserMap | undefined,
  array: TiledArray,
  context: RowContext,
  then: (array: TiledArray) => R | Promise<R>,
): R | Promise<R> {
  if (map === undefined) return then(array)
  const call = (plain: PlainArray): R | Promise<R> =>
    mapped(field, map, plain, context, ({ dtype, shape, data }) => then({ dtype, shape, tiles: [{ data }] }))
  const read = landed(array, context.read)
  return read instanceof Promise ? read.then(done => call(plainArray(done))) : call(plainArray(read))
}

/** The array of a value; bytes without NumPy's header as they are, once their number is checked. */
function arrayFrom(
  value: FieldValue,
  dtype: Dtype,
  shape: readonly (number | undefined)[],
): TiledArray | Uint8Array {
  if (!(value instanceof Uint8Array)) {
    if (isTiled(value)) return value
    if (typeof value !== 'string' && shape.length === 0) return scalarArray(value, dtype)
    if (typeof value === 'string' && value.trimStart().startsWith('['))
      return jsonArray(value, isFloatDtype(dtype))
    throw new DecodeError(
      `expected the bytes of an array, got ${JSON.stringify(typeof value === 'bigint' ? String(value) : value)} from the index: check "from"`,
    )
  }
  if (isNpy(value) || dtype === 'bf16') return openNpy(value)
  const rest = elementBytes(dtype, shape)
  if (shape[0] === undefined ? value.length % rest === 0 : value.length === rest) return value
  throw new DecodeError(
    `no .npy file (it has no such magic), and its ${value.length} bytes are not the ${rest} of ${dtype} [${shape.map(n => n ?? 'n').join(', ')}]`,
  )
}

/** A plain number as an array without axes. Whole numbers go into fields of integers; others are refused there, as floats are. */
function scalarArray(value: number | bigint, dtype: Dtype): TiledArray {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value)
  const view = new DataView(new ArrayBuffer(8))
  if (isWhole && !isFloatDtype(dtype)) {
    const isNegative = value < 0
    view.setBigInt64(0, BigInt(value), true)
    return { dtype: isNegative ? 'i64' : 'u64', shape: [], tiles: [{ data: new Uint8Array(view.buffer) }] }
  }
  view.setFloat64(0, Number(value), true)
  return { dtype: 'f64', shape: [], tiles: [{ data: new Uint8Array(view.buffer) }] }
}

/** Bytes of one element along the axis that varies, or of all where none does. */
function elementBytes(dtype: Dtype, shape: readonly (number | undefined)[]): number {
  return shape.reduce<number>((product, n) => product * (n ?? 1), 1) * DTYPES[dtype].bytes
}

/** Bare elements as an array. Most rows have the field's own shape: that one is passed on, not copied. */
function tiled(
  array: TiledArray | Uint8Array,
  dtype: Dtype,
  shape: readonly (number | undefined)[],
): TiledArray {
  if (!(array instanceof Uint8Array)) return array
  const own =
    shape[0] === undefined
      ? [array.length / elementBytes(dtype, shape), ...(shape.slice(1) as number[])]
      : (shape as number[])
  return { dtype, shape: own, tiles: [{ data: array }] }
}

/** What to do about an array of another shape than its field's. */
function shapeHint(found: readonly number[], shape: readonly number[]): string {
  if (found.length === shape.length + 1 && sameShape(found.slice(1), shape))
    return 'if each step along its first axis is meant to be a sample, give the source "rows": "axis"'
  if (found.length !== shape.length) return `correct "shape" of the field: the array has ${found.length} axes`
  if (sameShape(found.slice(1), shape.slice(1)))
    return 'lengths that differ along the first axis need "ragged" or "pad"; operators such as "crop" and "pad" in "apply" give arrays one size'
  return 'operators such as "crop" and "pad" in "apply" give arrays one size; otherwise correct "shape" of the field'
}
