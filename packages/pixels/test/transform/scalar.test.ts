/** Numbers and arrays in another dtype than the field's: converted where it can hold them, refused where it can't. */
import { expect, test } from 'vitest'
import { DTYPES, elements } from '../../../core/basics/dtype.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { FieldJson } from '../../../core/define/types.js'
import type { DenseProgram, FieldValue, UserMap } from '../../../core/engine/make/program.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { compileField } from './compile-field.js'

function made(json: FieldJson, value: FieldValue, map?: UserMap): unknown[] {
  const feed = normalizeFeed({ source: { tar: 'a.tar' }, fields: { x: json }, batch: 2 }, '/')
  const { dtype, shape } = feed.fields[0].layout
  const row = { work: Workspace.alone(), position: 0, chosen: new Map(), random: () => undefined as never }
  const at = row.work.take(elements(shape) * DTYPES[dtype].bytes)
  ;(compileField(feed.fields[0], map) as DenseProgram).run(value, at, row)
  return [...(new DTYPES[dtype].array(row.work.u8.buffer, at, elements(shape)) as Iterable<unknown>)]
}

const npy = (dtype: FieldJson['dtype']): FieldJson => ({ from: 'x', as: 'npy', shape: [3], dtype })
const int = (dtype: FieldJson['dtype']): FieldJson => ({ from: 'x', as: 'int', dtype })

/** A .npy file of doubles. */
function doubles(...values: number[]): Uint8Array {
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${values.length},), }\n`
  const prefix = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length, 0])
  return new Uint8Array(
    Buffer.concat([prefix, Buffer.from(header), Buffer.from(Float64Array.from(values).buffer)]),
  )
}

test('an array of another dtype is converted', () => {
  expect(made(npy('f32'), doubles(0.5, -1, 3))).toEqual([0.5, -1, 3])
  expect(made(npy('f16'), doubles(0, -1, 0.5))).toEqual([0, 0xbc00, 0x3800])
  expect(made(npy('bool'), doubles(0, 0.5, 255))).toEqual([0, 1, 1])
})

test('floats are not made integers, even where they hold some', () => {
  for (const dtype of ['i64', 'u8', 'i32'] as const)
    expect(() => made(npy(dtype), doubles(0, 1, 2))).toThrow(
      `the array is f64, and the field ${dtype}: floats are not made integers`,
    )
})

test('so is what a function makes of a number', () => {
  const seven = Buffer.from('7')
  expect(made(int('i64'), seven, value => Number(value) * 2)).toEqual([14n])
  expect(() => made(int('i64'), seven, value => Number(value) / 2)).toThrow('3.5 is no i64')
  expect(() => made(int('u8'), seven, value => Number(value) * 100)).toThrow('700 is no u8')
  expect(() => made(int('i64'), seven, () => null)).toThrow('map gave nothing where a number is needed')
})

test('a plain number is an array without axes', () => {
  const scalar = (dtype: FieldJson['dtype']): FieldJson => ({ from: 'x', as: 'npy', shape: [], dtype })
  expect(made(scalar('i64'), 7)).toEqual([7n])
  expect(made(scalar('i64'), -(2n ** 63n))).toEqual([-(2n ** 63n)])
  expect(made(scalar('u8'), 255n)).toEqual([255])
  expect(made(scalar('f32'), 3)).toEqual([3])
  expect(made(scalar('f64'), 0.1)).toEqual([0.1])
  expect(made(scalar('bool'), 1)).toEqual([1])
  expect(() => made(scalar('u8'), 256)).toThrow('256')
  expect(() => made(scalar('i32'), 1.5)).toThrow('floats are not made integers')
  expect(() => made(npy('f32'), 3)).toThrow('expected the bytes of an array')
})
