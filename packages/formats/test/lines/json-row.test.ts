/** Values of JSON objects: compared with JSON.parse, and exact where that is not. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../core/basics/errors.js'
import type { ArrayColumn, Column } from '../../../core/source/source.js'
import { JsonRow } from '../../lines/json/row.js'

const read = (text: string | Uint8Array, ...columns: string[]): Record<string, Column> =>
  new JsonRow(columns).read(Buffer.from(text as string))

/** An array as nested lists. */
function listsOf(value: Column): unknown {
  const { dtype, shape, tiles } = value as ArrayColumn
  const data = tiles[0].data as Uint8Array
  const flat =
    dtype === 'i64'
      ? [...new BigInt64Array(data.buffer, data.byteOffset, data.length / 8)]
      : [...new Float64Array(data.buffer, data.byteOffset, data.length / 8)]
  const nest = (axis: number, from: number): unknown[] => {
    const each = shape.slice(axis + 1).reduce((a, b) => a * b, 1)
    return Array.from({ length: shape[axis] }, (_, i) =>
      axis === shape.length - 1 ? flat[from + i] : nest(axis + 1, from + i * each),
    )
  }
  return nest(0, 0)
}

describe('values', () => {
  it('are those of the wanted keys', () => {
    const row = ' { "a" : 1 , "b": "x\\ny" ,"c": null, "d":true,"e":false, "f": -2.5e3 } \r\n'
    expect(read(row, 'a', 'b', 'c', 'd', 'e', 'f', 'g')).toEqual({ a: 1, b: 'x\ny', d: 1, e: 0, f: -2500 })
    expect(read('{}', 'a')).toEqual({})
    expect(read('{"a": "é😀"}', 'a')).toEqual({ a: 'é😀' })
  })

  it('of integers are exact', () => {
    const row = '{"a": 9007199254740993, "b": -9223372036854775808, "c": 9007199254740991, "d": -0}'
    expect(read(row, 'a', 'b', 'c', 'd')).toEqual({
      a: 9007199254740993n,
      b: -9223372036854775808n,
      c: 9007199254740991,
      d: 0,
    })
  })

  it('of floats may be what Python writes', () => {
    expect(read('{"a": NaN, "b": Infinity, "c": -Infinity, "d": 1E5}', 'a', 'b', 'c', 'd')).toEqual({
      a: Number.NaN,
      b: Infinity,
      c: -Infinity,
      d: 100000,
    })
  })

  it('are found below others, unless a key has the whole name', () => {
    expect(read('{"a": {"b": {"c": 1}, "d": 2}}', 'a.b.c', 'a.d', 'a.x')).toEqual({ 'a.b.c': 1, 'a.d': 2 })
    expect(read('{"a.b": 1, "a": {"b": 2}}', 'a.b')).toEqual({ 'a.b': 1 })
    expect(read('{"a": {"b": 2}, "a.b": 1}', 'a.b')).toEqual({ 'a.b': 1 })
    expect(read('{"a": {"b": 2}}', 'a', 'a.b')).toEqual({ a: '{"b": 2}', 'a.b': 2 })
    expect(read('{"a": 3}', 'a.b')).toEqual({})
  })

  it('are the last where a key stands twice', () => {
    expect(read('{"a": 1, "a": 2}', 'a')).toEqual({ a: 2 })
    expect(read('{"a": {"b": 1}, "a": {"c": 2}}', 'a.b', 'a.c')).toEqual({ 'a.c': 2 })
  })

  it('have keys with escapes', () => {
    expect(read('{"\\u0061": 1, "\\"": 2}', 'a', '"')).toEqual({ a: 1, '"': 2 })
  })

  it('are arrays where they are lists of numbers', () => {
    const { a, b, c, d } = read(
      '{"a": [1, -2,3], "b": [[1.5],[2]], "c": [], "d": [[],[]]}',
      'a',
      'b',
      'c',
      'd',
    )
    expect(listsOf(a)).toEqual([1n, -2n, 3n])
    expect(listsOf(b)).toEqual([[1.5], [2]])
    expect(c).toMatchObject({ dtype: 'i64', shape: [0] })
    expect(d).toMatchObject({ dtype: 'i64', shape: [2, 0] })
    expect(listsOf(read('{"a": [9007199254740993, -9223372036854775808, 4294967296, -1]}', 'a').a)).toEqual([
      9007199254740993n,
      -9223372036854775808n,
      4294967296n,
      -1n,
    ])
  })

  it('stay text where lists hold anything else, or are of unequal lengths', () => {
    for (const list of [
      '["a"]',
      '[1, null]',
      '[[1], [2, 3]]',
      '[[1], 2]',
      '[1, [2]]',
      '[{"a": 1}]',
      '[true]',
    ])
      expect(read(`{"a": ${list}}`, 'a')).toEqual({ a: list })
  })

  it('are those of JSON.parse', () => {
    const columns = ['a', 'b', 'ab', 'ä', '']
    const value = fc.jsonValue({ maxDepth: 3 })
    const object = fc.dictionary(fc.constantFrom(...columns, 'other'), value)
    fc.assert(
      fc.property(object, fc.boolean(), (object, pretty) => {
        const got = read(JSON.stringify(object, null, pretty ? 1 : 0).replaceAll('\n', ' '), ...columns)
        for (const name of columns) {
          const [is, want] = [got[name], object[name]]
          if (want === null || want === undefined) expect(is).toBeUndefined()
          else if (typeof want === 'boolean') expect(is).toBe(want ? 1 : 0)
          else if (typeof want === 'number') expect(Number(is)).toBe(want + 0)
          else if (typeof want === 'string') expect(is).toBe(want)
          else if (typeof is === 'string') expect(JSON.parse(is)).toEqual(JSON.parse(JSON.stringify(want)))
          else {
            const numbers = JSON.stringify(listsOf(is), (_, v) => (typeof v === 'bigint' ? Number(v) : v))
            expect(JSON.parse(numbers)).toEqual(JSON.parse(JSON.stringify(want)))
          }
        }
      }),
    )
  })
})

describe('what is wrong', () => {
  it.each([
    ['[1]', /is no JSON object, .* it begins with "\[1\]"/],
    ['{"a": 1', /is no JSON: at byte 7 of the row a comma or the end/],
    ['{"a" 1}', /a colon should stand here/],
    ['{"a": "x}', /this string does not end/],
    ['{"b": [1, {"c": "]"}', /this list or object does not end/],
    ['{"a": 01}', /the value of "a" is "01"/],
    ['{"a": nope}', /the value of "a" is "nope"/],
    ['{"a": "\\x"}', /the text of "a"/],
    ['{"a": 1} x', /after the object there is more text/],
    ['{"a": "\\ud800"}', /half of a surrogate pair/],
    ['{a: 1}', /a key in quotes should stand here/],
    ['', /is no JSON object/],
    [Buffer.from('{"a": "\xff"}', 'latin1'), /the text of "a" is not UTF-8/],
  ])('%s is a bad sample that says so', (text, message) => {
    expect(() => read(text, 'a')).toThrow(message)
  })

  it('is told by a DecodeError, whatever the bytes are', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '\\',
      '1',
      '-',
      'e',
      '.',
      'a',
      ' ',
      'null',
      '\xff',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), parts => {
        try {
          read(Buffer.from(`{"a":${parts.join('')}`, 'latin1'), 'a', 'a.a')
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
    )
  })
})
