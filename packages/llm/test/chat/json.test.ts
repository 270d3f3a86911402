/** JSON as Python reads and writes it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toJson } from '../../chat/jinja/builtins/to-json.js'
import { Meter } from '../../chat/jinja/meter.js'
import { Float, floatText, type Json, parseJson } from '../../chat/json.js'

const DUMPS = { ascii: false, separators: [', ', ': '], sort: false } as const

test('numbers stay what they were: integers of any size, and floats that are whole', () => {
  const text = '[1, 1.0, 100000.0, 1e-07, 1e+16, 123456789012345678901234567890, -0.0, 0.1, 1e+300]'
  expect(toJson(new Meter(), parseJson(text), DUMPS)).toBe(text)
  expect(toJson(new Meter(), parseJson('[1e5, 1E16, -0, 0.00001, 2.50]'), DUMPS)).toBe(
    '[100000.0, 1e+16, 0, 1e-05, 2.5]',
  )
})

test('the text of floats, as repr writes it', () => {
  const known: [number, string][] = [
    [0, '0.0'],
    [1e15, '1000000000000000.0'],
    [1e16, '1e+16'],
    [1234567.125, '1234567.125'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [-1.5e-9, '-1.5e-09'],
    [1e22, '1e+22'],
    [5e-324, '5e-324'],
    [123456789012345680, '1.2345678901234568e+17'],
    [Number.NaN, 'nan'],
    [-Infinity, '-inf'],
  ]
  for (const [value, text] of known) expect(floatText(value)).toBe(text)
})

test('keys keep their order, and the last value of a key counts', () => {
  const json = parseJson('{"2": 1, "1": 2, "__proto__": 3, "2": 4}') as Map<string, Json>
  expect([...json]).toEqual([
    ['2', 4],
    ['1', 2],
    ['__proto__', 3],
  ])
})

test('indented as json.dumps does, with nothing in empty lists', () => {
  const value = parseJson('{"a": [], "b": {}, "c": [1, {"d": "é\\u2028\\u0001"}]}')
  expect(toJson(new Meter(), value, { ...DUMPS, indent: '  ', separators: [',', ': '] })).toBe(
    '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "d": "é\u2028\\u0001"\n    }\n  ]\n}',
  )
  expect(toJson(new Meter(), value, { ...DUMPS, ascii: true })).toBe(
    '{"a": [], "b": {}, "c": [1, {"d": "\\u00e9\\u2028\\u0001"}]}',
  )
})

test('any JSON is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json(), text => {
      expect(plain(parseJson(text))).toEqual(JSON.parse(text))
    }),
  )
})

test('what is no JSON is refused with its place, whatever it is', () => {
  for (const text of ['', '{', '[1,]', '{"a" 1}', '"\\x"', '"a\nb"', '01', '1 2', 'nul', '{"a": 1,}', 'NaN'])
    expect(() => parseJson(text), text).toThrow(/this is no JSON: at character \d+/)
  expect(() => parseJson('['.repeat(100_000))).toThrow('256 deep')
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 3 }), (text, at, junk) => {
      const broken = text.slice(0, at % (text.length + 1)) + junk + text.slice(at % (text.length + 1))
      let right: unknown
      try {
        right = JSON.parse(broken)
      } catch {
        expect(() => parseJson(broken)).toThrow('no JSON')
        return
      }
      expect(plain(parseJson(broken))).toEqual(right)
    }),
  )
})

function plain(json: Json): unknown {
  if (json instanceof Float) return json.value
  if (typeof json === 'bigint') return Number(json)
  if (Array.isArray(json)) return json.map(plain)
  if (!(json instanceof Map)) return json
  const out = Object.create(Object.prototype)
  for (const [key, value] of json)
    Object.defineProperty(out, key, {
      value: plain(value),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  return out
}
