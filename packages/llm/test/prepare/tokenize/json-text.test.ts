/** The text of a key of a line of JSON: the kernel against JSON.parse. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Fault, LineMemory, textIn } from '../../../prepare/tokenize/json/line-memory.js'

/** The text by the kernel, or by JSON.parse where it is not sure; what is wrong otherwise. */
function found(line: string | Uint8Array, key = 'text', memory = new LineMemory(key)) {
  memory.begin(0)
  const bytes = typeof line === 'string' ? Buffer.from(line) : line
  memory.room().set(bytes)
  memory.filled(bytes.length)
  memory.last()
  const text = memory.text()
  return text instanceof Uint8Array ? Buffer.from(text).toString('latin1') : text
}

function expected(line: string, key = 'text') {
  const text = textIn(line, key)
  return text instanceof Fault ? text : text.toString('latin1')
}

/** Lets the kernel alone look, without JSON.parse behind it. */
function byKernel(line: string, key = 'text'): boolean {
  const memory = new LineMemory(key)
  let asked = false
  const before = JSON.parse
  JSON.parse = (...args) => {
    asked = true
    return before(...args)
  }
  try {
    found(line, key, memory)
  } finally {
    JSON.parse = before
  }
  return !asked
}

describe('the text of a line', () => {
  test.each([
    ['{"text":"plain"}', 'plain'],
    ['{"text":""}', ''],
    [' \t{ "id" : 1.5e-3 , "text" : "a\\nb\\t\\"\\\\\\/\\b\\f\\r" }\r', 'a\nb\t"\\/\b\f\r'],
    ['{"text":"\\u00e9\\ud83d\\ude00\\u4e2d\\u0000"}', 'é😀中\0'],
    ['{"text":"é😀中"}', 'é😀中'],
    ['{"text":"\\ud800"}', '\ufffd'],
    ['{"text":"\\ud800\\u0041\\udc00x"}', '\ufffdA\ufffdx'],
    ['{"text":"\\ud800\\ud83d\\ude00"}', '\ufffd😀'],
    ['{"text":"a","text":"b"}', 'b'],
    ['{"meta":{"text":"no","x":[1,{"text":"no"},[]]},"text":"yes","more":null}', 'yes'],
    ['{"a":true,"b":false,"c":null,"d":-0,"e":0.5E+7,"f":[],"g":{},"text":"yes"}', 'yes'],
    ['{"textual":"no","tex":"no","text":"yes"}', 'yes'],
  ])('%s', (line, text) => {
    expect(found(line)).toBe(Buffer.from(text).toString('latin1'))
    expect(byKernel(line), 'the kernel is sure of it').toBe(true)
  })

  test('is found below other keys', () => {
    expect(found('{"a":{"b":"x"}}', 'a.b')).toBe('x')
    expect(byKernel('{"a":{"c":{"b":"no"},"b":"x\\n"}}', 'a.b')).toBe(true)
    expect(found('{"a":{"b":"x"},"a.b":"y"}', 'a.b')).toBe('y')
    expect(found('{"a":{"b":"x"},"a":{"c":1}}', 'a.b')).toBeInstanceOf(Fault)
    expect(found('{"a":{"b":"x"},"a":7}', 'a.b')).toBeInstanceOf(Fault)
    expect(found('{"b":"z","a":{"b":{"c":"x"}},"c":"u"}', 'a.b.c')).toBe('x')
    expect(found('{"a":[{"b":"x"}]}', 'a.b')).toBeInstanceOf(Fault)
    expect(found('{"a":{"b":"x"},"a\\u002eb":"y"}', 'a.b')).toBe('y')
  })

  test.each([
    '{"text":"a"',
    '{"text":"a"}}',
    '{"text":"a"} x',
    '{"text":"a",}',
    '{"text":"a" "b":1}',
    '{"text":"a","b":01}',
    '{"text":"a","b":1.}',
    '{"text":"a","b":+1}',
    '{"text":"a","b":-}',
    '{"text":"a","b":1e}',
    '{"text":"a","b":[1,]}',
    '{"text":"a","b":[1}',
    '{"text":"a","b":tru}',
    '{"text":"a","b":"\\x"}',
    '{"text":"a","b":"\\u12g4"}',
    '{"text":"a\tb"}',
    '{"text":"a\\',
    '{"text":"\\u12',
    "{'text':'a'}",
    '{text:"a"}',
    '["a"]',
    '"text"',
    '{"text":null}',
    '{"text":3}',
    '{"text":["a"]}',
    '{"text":{"text":"a"}}',
    '{"other":"a"}',
    '{}',
  ])('%s is refused', line => {
    expect(found(line)).toBeInstanceOf(Fault)
  })

  test('lines of blanks have none, and numbers of Python are no fault', () => {
    expect(found(' \t\r')).toBeUndefined()
    expect(found('{"score":NaN,"x":[-Infinity],"text":"NaN \\"NaN\\""}')).toBe('NaN "NaN"')
  })

  test('bytes that are no UTF-8 stay as they are', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"text":"a'),
      Buffer.from([0xff, 0xe2, 0x82]),
      Buffer.from('\\n"}'),
    ])
    expect(found(bytes)).toBe('a\xff\xe2\x82\n')
  })

  test('a line may be longer than what is read at a time', () => {
    const text = 'long '.repeat(2_000_000)
    const memory = new LineMemory('text')
    const bytes = Buffer.from(`{"text":"one"}\n{"text":${JSON.stringify(text)}}\n{"text":"two"}`)
    const texts: string[] = []
    memory.begin(0)
    const take = () => texts.push(Buffer.from(memory.text() as Uint8Array).toString())
    for (let at = 0; at < bytes.length; ) {
      const room = memory.room()
      const piece = bytes.subarray(at, at + Math.min(room.length, 700_001))
      room.set(piece)
      memory.filled(piece.length)
      at += piece.length
      while (memory.next()) take()
    }
    while (memory.last()) take()
    expect(texts).toEqual(['one', text, 'two'])
    expect(memory.offset).toBe(bytes.length - '{"text":"two"}'.length)
  })
})

/** Objects with the key at several depths, as texts with blanks, escapes and wrong places. */
const key = fc.constantFrom('text', 'a', 'b', 'a.b', 'texts', 'é', '__proto__')
const blank = fc.constantFrom('', ' ', '\t', ' \r')
const asEscape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const text = fc
  .tuple(fc.string({ unit: 'binary', maxLength: 40 }), fc.boolean())
  .map(([text, all]) => (all ? `"${text.split('').map(asEscape).join('')}"` : JSON.stringify(text)))
const { value } = fc.letrec<{ value: string; object: string }>(tie => ({
  object: fc
    .array(fc.tuple(key, tie('value'), blank), { maxLength: 4 })
    .map(
      parts => `{${parts.map(([key, value, b]) => `${b}${JSON.stringify(key)}${b}:${value}${b}`).join(',')}}`,
    ),
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double().map(number => (Number.isFinite(number) ? String(number) : '1e5')),
    fc.constantFrom('true', 'null', '[]', '{}', '"\\ud800"', '"\\ud83d\\ude00"', '-0.1E-2'),
    fc.array(tie('value'), { maxLength: 3 }).map(values => `[${values.join(',')}]`),
    tie('object'),
    tie('object'),
  ),
}))

test('the kernel and JSON.parse agree, also about what is wrong', () => {
  const memories = new Map(['text', 'a.b', 'é'].map(key => [key, new LineMemory(key)]))
  const wreck = fc.option(
    fc.tuple(fc.nat(), fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '1', '\u0001', '[', ']')),
  )
  fc.assert(
    fc.property(value, wreck, fc.constantFrom('text', 'a.b', 'é'), (whole, wrecked, key) => {
      const place = wrecked === null ? 0 : wrecked[0] % (whole.length + 1)
      const line = (
        wrecked === null ? whole : whole.slice(0, place) + wrecked[1] + whole.slice(place + 1)
      ).replace(/\n/g, ' ')
      fc.pre(line.trim() !== '' && !/\p{Surrogate}/u.test(line))
      const [got, want] = [found(line, key, memories.get(key)), expected(line, key)]
      if (want instanceof Fault) expect(got).toBeInstanceOf(Fault)
      else expect(got).toBe(want)
    }),
  )
})
