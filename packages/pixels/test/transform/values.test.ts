/** Arrays as they are stored become what NumPy makes of them, bit for bit, or are refused by name. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { npyOf } from '../../../../test/support/npy.js'
import {
  bytesOfStored,
  countOf,
  type StoredDtype,
  type Tile,
  type TiledArray,
} from '../../../core/basics/array.js'
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { FieldJson } from '../../../core/define/types.js'
import type {
  DenseProgram,
  FieldValue,
  RowContext,
  VaryingProgram,
} from '../../../core/engine/make/program.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { putArray } from '../../transform/plain/put-array.js'
import { compileField } from './compile-field.js'

interface Cast {
  source: StoredDtype
  target: Dtype
  from: string
  to: string
  fits: string
}
interface Strided {
  name: string
  source: StoredDtype
  target: Dtype
  bigEndian: boolean
  shape: number[]
  strides: number[]
  data: string
  to: string
}

const golden = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../test/golden/values/${name}.json`, import.meta.url), 'utf8'))
const casts: Cast[] = golden('casts')
const strided: Strided[] = golden('strides')
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

const work = Workspace.alone(1 << 21)
const context: RowContext = {
  work,
  position: 0,
  chosen: new Map(),
  random: () => undefined as never,
}

function fieldOf(json: Omit<FieldJson, 'from'>) {
  const fields = { x: { from: 'x', ...json } }
  return normalizeFeed({ source: { tar: 'a.tar' }, fields, batch: 2 }, '/').fields[0]
}

/** The bytes of a dense row, made of a value; what lay there before is visible. */
function dense(json: Omit<FieldJson, 'from'>, value: FieldValue, more: Partial<RowContext> = {}): Uint8Array {
  const field = fieldOf(json)
  const { dtype, shape } = field.layout
  work.reset()
  const size = shape.reduce((product, n) => product * n, 1) * DTYPES[dtype].bytes
  const at = work.take(size + 8)
  work.u8.fill(0xaa, at, at + size + 8)
  const pending = (compileField(field) as DenseProgram).run(value, at, { ...context, ...more })
  expect(pending).toBeUndefined()
  expect([...work.u8.slice(at + size, at + size + 8)]).toEqual(new Array(8).fill(0xaa))
  return work.u8.slice(at, at + size)
}

/** The same without a field: of shapes that no field has. */
function put(array: TiledArray, dtype: Dtype): Uint8Array {
  work.reset()
  const size = countOf(array.shape) * DTYPES[dtype].bytes
  const at = work.take(size)
  putArray(array, dtype, at, context)
  return work.u8.slice(at, at + size)
}

const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')
const npy = (dtype: Dtype, shape: number[]): Omit<FieldJson, 'from'> => ({ as: 'npy', dtype, shape })
const arrayOf = (dtype: StoredDtype, data: Uint8Array): TiledArray => ({
  dtype,
  shape: [data.length / bytesOfStored(dtype)],
  tiles: [{ data }],
})

describe('every type to every other', () => {
  test('there are all pairs', () => {
    const stored = 13
    const floats = 4
    const integers = 7
    expect(casts).toHaveLength(stored * (stored - 1) - floats * integers)
  })

  test.each(casts.map(cast => [`${cast.source} → ${cast.target}`, cast] as const))('%s', (_, cast) => {
    const { source, target, fits } = cast
    const [sizeFrom, sizeTo] = [bytesOfStored(source), DTYPES[target].bytes]
    const [from, to] = [bytes(cast.from), bytes(cast.to)]
    const held = [...fits].flatMap((fit, i) => (fit === '1' ? [i] : []))
    const pick = (data: Uint8Array, size: number) =>
      new Uint8Array(Buffer.concat(held.map(i => data.subarray(i * size, (i + 1) * size))))
    const made = dense(npy(target, [held.length]), arrayOf(source, pick(from, sizeFrom)))
    expect(hex(made)).toBe(hex(pick(to, sizeTo)))
    const big = pick(from, sizeFrom)
    for (let i = 0; i < big.length; i += sizeFrom) big.subarray(i, i + sizeFrom).reverse()
    const swapped = { ...arrayOf(source, big), tiles: [{ data: big, bigEndian: true }] }
    expect(hex(dense(npy(target, [held.length]), swapped))).toBe(hex(pick(to, sizeTo)))
    for (let i = 0; i < fits.length; i++) {
      if (fits[i] === '1') continue
      const refused = from.slice(i * sizeFrom, (i + 1) * sizeFrom)
      const data = new Uint8Array(3 * sizeFrom)
      data.set(refused, 2 * sizeFrom)
      expect(() => dense(npy(target, [3, 1]), { ...arrayOf(source, data), shape: [3, 1] })).toThrow(
        new RegExp(
          `^element \\[2, 0\\] of the array is -?\\d+ in ${source}, which is no ${target}: that holds`,
        ),
      )
    }
  })

  test('an element that is refused is named exactly', () => {
    const data = new Uint8Array(BigUint64Array.of(1n, 2n ** 64n - 1n).buffer)
    expect(() => dense(npy('i64', [2]), arrayOf('u64', data))).toThrow(
      'element [1] of the array is 18446744073709551615 in u64, which is no i64: that holds integers from ' +
        '-9223372036854775808 to 9223372036854775807: give the field another dtype',
    )
  })

  test('floats are never made integers', () => {
    for (const source of ['f16', 'bf16', 'f32', 'f64'] as const)
      for (const target of ['u8', 'i8', 'u16', 'i16', 'i32', 'u32', 'i64'] as const)
        expect(() => dense(npy(target, [1]), arrayOf(source, new Uint8Array(bytesOfStored(source))))).toThrow(
          `the array is ${source}, and the field ${target}`,
        )
  })
})

describe('strides and orders of bytes', () => {
  test.each(strided.map(array => [array.name, array] as const))('%s', (_, array) => {
    const { source, target, shape, strides, bigEndian } = array
    const data = bytes(array.data)
    const column: TiledArray = { dtype: source, shape, tiles: [{ data, strides, bigEndian }] }
    expect(hex(put(column, target))).toBe(array.to)
    // The same at an odd address, as in the middle of a tar file.
    const odd = new Uint8Array(data.length + 3)
    odd.set(data, 3)
    const moved = { ...column, tiles: [{ data: odd.subarray(3), strides, bigEndian }] }
    expect(hex(put(moved, target))).toBe(array.to)
  })

  test('what is larger than a piece is put together again', () => {
    const n = 100_003
    const from = Uint16Array.from({ length: 2 * n }, (_, i) => i * 7)
    const data = new Uint8Array(from.buffer)
    const tiles = [{ data, strides: [-4] }]
    const made = dense(npy('i64', [n]), { dtype: 'u16', shape: [n], tiles })
    const expected = BigInt64Array.from({ length: n }, (_, i) => BigInt(from[2 * (n - 1 - i)]))
    expect(Buffer.compare(made, new Uint8Array(expected.buffer))).toBe(0)
    const fail = Uint16Array.from({ length: n }, (_, i) => (i === n - 2 ? 300 : 7))
    expect(() => dense(npy('u8', [n]), arrayOf('u16', new Uint8Array(fail.buffer)))).toThrow(
      `element [${n - 2}] of the array is 300 in u16`,
    )
  })
})

describe('tiles', () => {
  /** Cuts an array of i16 into boxes along its axes, some of them unread. */
  const cuts = fc.record({
    shape: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
    at: fc.array(fc.nat({ max: 5 }), { minLength: 4, maxLength: 4 }),
    target: fc.constantFrom<Dtype>('i16', 'i64', 'f32'),
    bigEndian: fc.boolean(),
    unread: fc.boolean(),
  })

  test('anywhere in the array, of any strides, read or not', () => {
    fc.assert(
      fc.property(cuts, ({ shape, at, target, bigEndian, unread }) => {
        const count = shape.reduce((product, n) => product * n, 1)
        const values = Int16Array.from({ length: count }, (_, i) => i * 31 - 400)
        const files = new Map<string, Uint8Array>()
        const tiles: Tile[] = boxes(shape, at).map((box, number) => {
          const data = boxBytes(values, shape, box, bigEndian)
          const tile = { at: box.at, shape: box.shape, ...(bigEndian && { bigEndian }) }
          if (!unread || number % 2 === 1) return { ...tile, data }
          files.set(`${number}`, data)
          return { ...tile, data: { file: `${number}`, offset: 5, length: data.length } }
        })
        const read: RowContext['read'] = ({ file, offset, length }, into) => {
          expect(into.length).toBe(length)
          into.set(files.get(file)!.subarray(offset - 5, offset - 5 + length))
        }
        const made = dense(npy(target, shape), { dtype: 'i16', shape, tiles }, { read })
        const out = new DTYPES[target].array(made.buffer, 0, count) as Iterable<number | bigint>
        expect([...out].map(Number)).toEqual([...values])
      }),
    )
  })

  test('that leave elements out, or lie outside, are refused', () => {
    const data = new Uint8Array(8)
    const made = (...tiles: Tile[]) => dense(npy('u8', [4, 2]), { dtype: 'u8', shape: [4, 2], tiles })
    expect(() => made({ data, shape: [2, 2] })).toThrow('hold 4 elements, and not its 8')
    expect(() => made({ data, at: [3, 0], shape: [2, 2] })).toThrow('does not fit its array of shape [4,2]')
    expect(() => made({ data, strides: [2] })).toThrow('not as many as it has axes')
    expect(() => made({ data: data.subarray(1) })).toThrow('reach to byte 8, but its data has 7')
    expect(() => made({ data, strides: [4, 1] })).toThrow('reach to byte 14, but its data has 8')
    expect(hex(made({ data, at: [1, 0] }, { data, shape: [1, 2] }))).toBe('00'.repeat(8))
  })

  interface BoxOf {
    at: number[]
    shape: number[]
  }

  /** Two boxes an axis, cut at `at` where that lies within. */
  function boxes(shape: number[], at: number[]): BoxOf[] {
    return shape.reduce<BoxOf[]>(
      (found, n, axis) =>
        found.flatMap(box =>
          (at[axis] > 0 && at[axis] < n
            ? [
                [0, at[axis]],
                [at[axis], n],
              ]
            : [[0, n]]
          ).map(([from, to]) => ({
            at: [...box.at, from],
            shape: [...box.shape, to - from],
          })),
        ),
      [{ at: [], shape: [] }],
    )
  }

  function boxBytes(values: Int16Array, shape: number[], box: BoxOf, bigEndian: boolean): Uint8Array {
    const out: number[] = []
    const visit = (axis: number, element: number): void => {
      if (axis === shape.length) return void out.push(values[element])
      for (let i = 0; i < box.shape[axis]; i++) visit(axis + 1, element * shape[axis] + box.at[axis] + i)
    }
    visit(0, 0)
    const view = new DataView(new ArrayBuffer(out.length * 2))
    for (const [i, value] of out.entries()) view.setInt16(2 * i, value, !bigEndian)
    return new Uint8Array(view.buffer)
  }
})

describe('fields that take arrays', () => {
  const scalar = (dtype: StoredDtype, data: ArrayBufferLike): TiledArray => ({
    dtype,
    shape: [],
    tiles: [{ data: new Uint8Array(data) }],
  })

  test('numbers, exactly', () => {
    const wide = scalar('i64', BigInt64Array.of(-(2n ** 53n) - 1n).buffer)
    expect(hex(dense({ as: 'int' }, wide))).toBe(
      hex(new Uint8Array(BigInt64Array.of(-(2n ** 53n) - 1n).buffer)),
    )
    const f64 = scalar('f64', Float64Array.of(0.1).buffer)
    expect(hex(dense({ as: 'float' }, f64))).toBe(hex(new Uint8Array(Float32Array.of(0.1).buffer)))
    expect(() => dense({ as: 'int' }, f64)).toThrow('is f64, and no integer')
    expect(() => dense({ as: 'int' }, { ...f64, dtype: 'u8', shape: [8] })).toThrow(
      'is an array of u8 [8], not a single number',
    )
    expect(
      hex(dense({ as: 'int', dtype: 'u8' }, { ...scalar('bool', Uint8Array.of(7).buffer), shape: [1] })),
    ).toBe('01')
  })

  test('a number in a .npy file, as datasets in Python give it', () => {
    expect(hex(dense({ as: 'int', dtype: 'u8' }, npyOf([1], Uint8Array.of(7))))).toBe('07')
    expect(hex(dense({ as: 'float', dtype: 'f32' }, npyOf([], Uint8Array.of(1))))).toBe('0000803f')
    expect(() => dense({ as: 'int' }, npyOf([2], Uint8Array.of(1, 2)))).toThrow('not a single number')
  })

  test('bigints and long digits keep all of their 64 bits', () => {
    const most = 2n ** 63n - 1n
    const bits = (value: bigint) => hex(new Uint8Array(BigInt64Array.of(value).buffer))
    expect(hex(dense({ as: 'int' }, most))).toBe(bits(most))
    expect(hex(dense({ as: 'int' }, -most - 1n))).toBe(bits(-most - 1n))
    expect(hex(dense({ as: 'int' }, 5n))).toBe(bits(5n))
    expect(hex(dense({ as: 'int' }, ' -9007199254740993 '))).toBe(bits(-9007199254740993n))
    expect(hex(dense({ as: 'int' }, Buffer.from('9223372036854775807')))).toBe(bits(most))
    expect(() => dense({ as: 'int' }, most + 1n)).toThrow('it is 9223372036854775808 in u64, which is no i64')
    expect(() => dense({ as: 'int' }, '9223372036854775808')).toThrow('out of range')
    expect(() => dense({ as: 'int' }, 2n ** 64n)).toThrow('has more than 64 bits')
    expect(() => dense({ as: 'int', dtype: 'u8' }, 256n)).toThrow('it is 256 in u64, which is no u8')
    expect(() => dense({ as: 'int' }, 2 ** 60)).toThrow('out of range') // a number may have been rounded already
    // Once to f16: by way of f32 it would be a tie, which goes down to 1.
    expect(hex(dense({ as: 'float', dtype: 'f16' }, 1 + 2 ** -11 + 2 ** -40))).toBe('013c')
    // Once to f32, not by way of f64, which would make it 2^62 + 2^39.
    const tie = 2n ** 62n + 2n ** 38n + 1n
    const [f32] = new Float32Array(dense({ as: 'float' }, tie).buffer)
    expect(f32).toBe(2 ** 62 + 2 ** 39)
    const [below] = new Float32Array(dense({ as: 'float' }, 2n ** 62n + 3n * 2n ** 38n - 1n).buffer)
    expect(below).toBe(2 ** 62 + 2 ** 39)
  })

  test('varying length, boxes, points, bytes and pictures', () => {
    const varying = (json: Omit<FieldJson, 'from'>, value: FieldValue) => {
      const field = fieldOf(json)
      work.reset()
      const { at, length } = (compileField(field) as VaryingProgram).run(value, context) as {
        at: number
        length: number
      }
      const size =
        field.layout.shape.reduce((product, n) => product * n, 1) * DTYPES[field.layout.dtype].bytes
      return { length, data: work.u8.slice(at, at + length * size) }
    }
    const tokens = arrayOf('u16', new Uint8Array(Uint16Array.of(1, 65535, 3).buffer))
    const wide = new Uint8Array(BigInt64Array.of(1n, 65535n, 3n).buffer)
    for (const form of [{ ragged: { max: 8 } }, { pad: { to: 'longest' as const, max: 8 } }])
      expect(varying({ as: 'npy', dtype: 'i64', shape: [8], ...form }, tokens)).toEqual({
        length: 3,
        data: wide,
      })
    const pairs = { as: 'npy' as const, dtype: 'u8' as const, shape: [8, 2], ragged: { max: 8 } }
    for (const shape of [[0], [0, 0], [0, 2]])
      expect(varying(pairs, { dtype: 'u8', shape, tiles: [{ data: new Uint8Array(0) }] }).length).toBe(0)
    expect(() => varying(pairs, { dtype: 'u8', shape: [0, 3], tiles: [] })).toThrow('has shape [0, 3]')
    const corners = {
      dtype: 'i32' as const,
      shape: [1, 4],
      tiles: [{ data: new Uint8Array(Int32Array.of(1, 2, 3, 4).buffer) }],
    }
    const floats = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer)
    expect(varying({ as: 'boxes' }, corners)).toEqual({ length: 1, data: floats })
    expect(varying({ as: 'points' }, { ...corners, shape: [2, 2] })).toEqual({ length: 2, data: floats })
    const text = arrayOf('u8', Buffer.from('hello'))
    expect(Buffer.from(varying({ as: 'bytes' }, text).data).toString()).toBe('hello')
    expect(() => varying({ as: 'bytes' }, tokens)).toThrow('is an array of u16 [3], and not bytes')
    expect(() => varying({ as: 'text' }, text)).toThrow('is an array of u8 [5], not text')
    const pixels = Uint8Array.from({ length: 12 }, (_, i) => i)
    const picture = { dtype: 'u8' as const, shape: [2, 2, 3], tiles: [{ data: pixels }] }
    expect([...dense({ as: 'image', shape: [2, 2], layout: 'hwc' }, picture)]).toEqual([...pixels])
    const turned = { ...picture, tiles: [{ data: pixels, strides: [6, -3, 1] }] }
    expect([...dense({ as: 'image', shape: [2, 2], layout: 'hwc' }, turned)].slice(0, 6)).toEqual([
      3, 4, 5, 0, 1, 2,
    ])
  })

  test('lists in JSON: null is NaN among floats, and bad among integers', () => {
    const list = '[[1, null], [2.5, -3]]'
    const made = new Float32Array(dense(npy('f32', [2, 2]), list).buffer)
    expect(made).toEqual(Float32Array.of(1, NaN, 2.5, -3))
    expect(new BigInt64Array(dense(npy('i64', [2]), ' [1, -2]').buffer)).toEqual(BigInt64Array.of(1n, -2n))
    const refused = (text: string, dtype: Dtype = 'i64') => expect(() => dense(npy(dtype, [2]), text))
    refused('[1, null]').toThrow('element [1] of the list is null, which is no number')
    refused('[1, 2.5]').toThrow('element [1] of the list is 2.5, which is no integer')
    refused('[9007199254740993, 1]').toThrow('no integer that JSON holds exactly')
    refused('[[1], 2]', 'f32').toThrow('element [1] of the list is not a list of 1')
    refused('["1", 2]', 'f32').toThrow('element [0] of the list is "1", which is no number')
    refused('[1, 300]', 'u8').toThrow('element [1] of the array is 300 in i64')
    refused('[1, 2, 3]').toThrow(
      'the array has shape [3], the field [2]: lengths that differ along the first axis need',
    )
    refused('[[1, 2], [3, 4]]').toThrow(
      'the field [2]: if each step along its first axis is meant to be a sample',
    )
    refused('[[[1]]]').toThrow('correct "shape" of the field: the array has 3 axes')
  })

  test('an unread array of any other field is read first', () => {
    const five = new Uint8Array(BigInt64Array.of(-5n).buffer)
    const read: RowContext['read'] = (_range, into) => into.set(five)
    const value = { dtype: 'i64' as const, shape: [], tiles: [{ data: { file: 'f', offset: 0, length: 8 } }] }
    expect(new BigInt64Array(dense({ as: 'int' }, value, { read }).buffer)[0]).toBe(-5n)
  })
})
