/** How many bytes of a value a field takes, before anything is made of them. */
import { expect, test } from 'vitest'
import { checkLimit, columnLimits, limitOf } from '../../define/limits.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { FieldJson } from '../../define/types.js'

const call = { call: { module: 'file:///x.mjs', export: 'default', hash: '0' } }

const fieldsOf = (fields: Record<string, FieldJson>) =>
  normalizeFeed({ source: { tar: 'a.tar' }, fields, batch: 4 }, '/').fields

test.each<[FieldJson, number]>([
  [{ from: 'x', as: 'int' }, 4096],
  [{ from: 'x', as: 'class', classes: ['a'] }, 4096],
  [{ from: 'x', as: 'json' }, 65_536],
  [{ from: 'x', as: 'text', ragged: { max: 100 } }, 100],
  [{ from: 'x', as: 'json', map: call }, 4 << 20],
  [{ from: 'x', as: 'json', map: call, ragged: { max: 1 << 23 } }, 1 << 23],
  [{ from: 'x', as: 'bytes', pad: { to: 'longest', multiple: 64, max: 100 } }, 128],
  [{ from: 'x', as: 'boxes' }, 1 << 20],
  [{ from: 'x', as: 'points', shape: [10_000, 2] }, 2_560_000],
  [{ from: 'x', as: 'npy', shape: [3, 5], dtype: 'u8' }, 15 * 8 + 10_012],
  [{ from: 'x', as: 'npy', shape: [3, 5], dtype: 'u8', ragged: {} }, 15 * 8 + 10_012],
  [{ from: 'x', as: 'npy', shape: [3, 5], dtype: 'u8', apply: [{ crop: [3, 5] }] }, 1 << 30],
  [{ from: 'x', as: 'image', shape: [8, 8] }, 64 << 20],
])('%j takes %i bytes', (field, most) => {
  expect(columnLimits(fieldsOf({ f: field }))).toEqual({ x: most })
})

test('a column has the limit of the field that takes most of it, under each of its names', () => {
  const fields = fieldsOf({
    a: { from: 'x|y', as: 'text', ragged: { max: 10 } },
    b: { from: 'x', as: 'json' },
  })
  expect(columnLimits(fields)).toEqual({ x: 65_536, y: 10 })
})

test('what is more is refused, with the way out', () => {
  const refusal = (field: FieldJson, bytes: number) => {
    const limit = limitOf(fieldsOf({ f: field })[0])
    return limit && (() => checkLimit(limit, new Uint8Array(bytes)))
  }
  expect(refusal({ from: 'x', as: 'json' }, 65_536)).not.toThrow()
  expect(refusal({ from: 'x', as: 'json' }, 65_537)).toThrow(
    '65537 elements, more than the greatest length of 65536: raise "max"',
  )
  expect(refusal({ from: 'x', as: 'json', map: call }, 5 << 20)).toThrow(
    'has 5242880 bytes, more than the 4194304 that are read for json: raise "max"',
  )
  expect(refusal({ from: 'x', as: 'int' }, 5000)).toThrow('that are read for int: check "from"')
  expect(refusal({ from: 'x', as: 'boxes' }, 2 << 20)).toThrow('that are read for boxes: raise "shape"')
  expect(refusal({ from: 'x', as: 'npy', shape: [1], dtype: 'u8' }, 1 << 20)).toBeUndefined()
})
