import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonArray } from '../../decode/array/json-array.js'
import { decodeBoxes, decodePoints } from '../../decode/array/rows.js'
import { classTable, decodeClass } from '../../decode/text/class.js'
import { decodeJson } from '../../decode/text/json.js'
import { decodeFloat, decodeInt } from '../../decode/text/number.js'
import { checkText, decodeText } from '../../decode/text/text.js'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('int', () => {
  it('reads any safe integer, from bytes, text or number, with space around it', () => {
    const property = fc.property(fc.maxSafeInteger(), n => {
      expect(decodeInt(bytes(String(n)))).toBe(n)
      expect(decodeInt(bytes(` ${n}\r\n`))).toBe(n)
      expect(decodeInt(String(n))).toBe(n)
      expect(decodeInt(n)).toBe(n)
    })
    fc.assert(property)
    expect(decodeInt(bytes('-0'))).toBe(0)
    expect(decodeInt(bytes('+7\n'))).toBe(7)
  })

  it('names what is no integer, or out of range', () => {
    expect(() => decodeInt(bytes('cat'))).toThrow(/"cat" is not an integer/)
    for (const bad of ['', '-', '1.5', '0x10', '1 2', '1e3', '٣']) {
      expect(() => decodeInt(bytes(bad)), bad).toThrow(/is not an integer/)
    }
    expect(() => decodeInt(1.5)).toThrow(/"1.5" is not an integer/)
    expect(() => decodeInt(bytes('300'), 0, 255)).toThrow(/"300" is out of range.*0 to 255/)
    expect(() => decodeInt(bytes('99999999999999999999'))).toThrow(/out of range/)
    expect(() => decodeInt(bytes('garbage '.repeat(9)))).toThrow(/"garbage .*"…/)
  })
})

describe('float', () => {
  it('reads what Python writes', () => {
    const property = fc.property(fc.double({ noNaN: true }), x => decodeFloat(String(x)) === x)
    fc.assert(property)
    expect(decodeFloat(bytes(' 1e-3\n'))).toBe(0.001)
    expect(decodeFloat('-.5')).toBe(-0.5)
    expect(decodeFloat('-inf')).toBe(-Infinity)
    expect(decodeFloat('nan')).toBeNaN()
  })

  it('names what is no number', () => {
    for (const bad of ['', '.', '0x10', 'one', '1,5', '1_000']) {
      expect(() => decodeFloat(bad), bad).toThrow(/is not a number/)
    }
  })
})

describe('text', () => {
  it('is what TextEncoder wrote, also in shared memory', () => {
    const property = fc.property(fc.string({ unit: 'grapheme' }), text => {
      const encoded = bytes(text)
      const shared = new Uint8Array(new SharedArrayBuffer(encoded.length))
      shared.set(encoded)
      expect(decodeText(encoded)).toBe(text)
      expect(decodeText(shared)).toBe(text)
    })
    fc.assert(property)
    expect(decodeText(bytes('\ufeffx'))).toBe('\ufeffx')
  })

  it('says where it is not UTF-8', () => {
    expect(() => decodeText(Uint8Array.of(0x61, 0xc3, 0xa9, 0xff))).toThrow(/byte 0xff at 3 of 4/)
    expect(() => decodeText(Uint8Array.of(0x61, 0xe2, 0x82))).toThrow(/byte 0xe2 at 1/)
    expect(() => decodeText(Uint8Array.of(0xed, 0xa0, 0x80))).toThrow(/byte 0xed at 0/)
    expect(() => decodeText(Uint8Array.of(0x41, 0xc0, 0x80))).toThrow(/byte 0xc0 at 1/)
  })

  it('is checked as it is decoded: the same is refused, in the same words', () => {
    const said = (work: (value: Uint8Array) => unknown, value: Uint8Array): string => {
      try {
        work(value)
        return 'text'
      } catch (error) {
        return (error as Error).message
      }
    }
    const some = fc.oneof(fc.uint8Array(), fc.string({ unit: 'grapheme' }).map(bytes))
    const property = fc.property(some, fc.boolean(), (encoded, isShared) => {
      const value = isShared ? new Uint8Array(new SharedArrayBuffer(encoded.length)) : encoded
      value.set(encoded)
      expect(said(checkText, value)).toBe(said(decodeText, value))
    })
    fc.assert(property)
    expect(said(checkText, Uint8Array.of(0xed, 0xa0, 0x80))).toMatch(/byte 0xed at 0/)
    expect(() => checkText({ dtype: 'u8', shape: [1], tiles: [] })).toThrow(/an array of u8/)
  })
})

describe('json', () => {
  it('reads JSON, with or without a BOM, and says what is wrong otherwise', () => {
    expect(decodeJson(bytes('\ufeff{"a": [1, null]}'))).toEqual({ a: [1, null] })
    expect(() => decodeJson(bytes('{"a": '))).toThrow(/is not JSON .*begins with "\{\\"a\\": "/)
    expect(() => decodeJson(bytes('  '))).toThrow(/it is empty/)
    const deep = (n: number, inner = '') => bytes(`${'[{"a":'.repeat(n)}[${inner}]${'}]'.repeat(n)}`)
    expect(JSON.stringify(decodeJson(deep(499, `"${'[\\\\\\"{'.repeat(1000)}"`))).length).toBeGreaterThan(
      5000,
    )
    expect(() => decodeJson(deep(500))).toThrow('lie more than 1000 deep in each other')
    expect(() => jsonArray(`${'['.repeat(33)}1${']'.repeat(33)}`, true)).toThrow('at most 32 axes')
  })
})

describe('class', () => {
  const table = classTable(['cat', 'dog', 'tabby cat'])
  it('maps names to their place in the list', () => {
    expect(decodeClass(bytes('tabby cat\n'), table)).toBe(2)
    expect(decodeClass('cat', table)).toBe(0)
    expect(decodeClass('\u00a0\ufeffcat \n', classTable(['cat', '\ufeffcat']))).toBe(1) // U+FEFF is no blank
  })
  it('proposes the nearest name', () => {
    expect(() => decodeClass('dgo', table)).toThrow(/"dgo" is not one of the 3 classes.*mean "dog"\?/)
    expect(() => decodeClass('giraffe', table)).toThrow(/is not one of the 3 classes of the definition: add/)
    expect(() => decodeClass(bytes('kätzchen'), table)).toThrow('class "kätzchen" is')
  })
})

describe('boxes and points', () => {
  const npyOf = (shape: string, values: number[]) => {
    const header = `{'descr': '<f4', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117)
    const prefix = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]
    const data = new Uint8Array(Float32Array.from(values).buffer)
    return Uint8Array.from([...prefix, ...bytes(`${header}\n`), ...data])
  }

  it('are read from JSON, npy and lines alike', () => {
    const values = [1, 2, 3, 4, 0, 5, 6, 7.5, 8, 1]
    const json = bytes('[[1, 2, 3, 4, 0], [5, 6, 7.5, 8, 1]]')
    const lines = bytes('1 2 3 4 0\n\n5,6, 7.5;8\t1\r\n')
    for (const value of [json, lines, npyOf('(2, 5)', values)]) {
      const rows = decodeBoxes(value)
      expect(rows).toMatchObject({ count: 2, columns: 5 })
      expect([...rows.values]).toEqual(values)
    }
    expect(decodePoints(bytes('[[1, 2]]'))).toMatchObject({ count: 1, columns: 2 })
  })

  it('may be none', () => {
    for (const value of [bytes('[]'), bytes(''), bytes('\n'), npyOf('(0, 4)', []), npyOf('(0,)', [])]) {
      expect(decodeBoxes(value)).toMatchObject({ count: 0, columns: 4 })
    }
  })

  it('name the row that is wrong', () => {
    expect(() => decodeBoxes(bytes('[[1,2,3,4],[1,2,3]]'))).toThrow(/row 1 of boxes has 3 numbers/)
    expect(() => decodeBoxes(bytes('[[1,2]]'))).toThrow(/boxes have 4 or 5 numbers each, but here are 2/)
    expect(() => decodeBoxes(bytes('[[1,2,"x",4]]'))).toThrow(/row 0 of boxes has .*not a number/)
    expect(() => decodeBoxes(bytes('[1, 2]'))).toThrow(/row 0 of boxes is number/)
    expect(() => decodeBoxes(bytes('{"a": 1}'))).toThrow(/line 1 of boxes/)
    expect(() => decodeBoxes(bytes('1 2 3 4\n1 2 nan 4'))).toThrow(/row 1 of boxes has the value NaN/)
    expect(() => decodeBoxes(bytes('[[50,60,20,10]]'))).toThrow(/box 0 .*not \[x, y, width, height\]/)
    expect(() => decodeBoxes(npyOf('(4,)', [1, 2, 3, 4]))).toThrow(/two dimensions.*\(4\)/)
    expect(() => decodePoints(bytes('1 2\noops'))).toThrow(/line 2 of points: "oops" is not a number/)
  })
})
