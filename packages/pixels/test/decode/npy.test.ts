import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeNpy } from '../../../core/basics/npy/file.js'
import { numbersOf as npyNumbers } from '../../../core/basics/plain-array.js'

/** An npy file around a header text, padded as NumPy does. */
function npy(header: string, data: Uint8Array, version = 1): Uint8Array {
  const prefix = version === 1 ? 10 : 12
  const padded = `${header.padEnd(Math.ceil((prefix + header.length + 1) / 64) * 64 - prefix - 1)}\n`
  const out = new Uint8Array(prefix + padded.length + data.length)
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0])
  const view = new DataView(out.buffer)
  if (version === 1) view.setUint16(8, padded.length, true)
  else view.setUint32(8, padded.length, true)
  out.set(Buffer.from(padded, 'latin1'), prefix)
  out.set(data, prefix + padded.length)
  return out
}

const dict = (descr: string, shape: string, fortran = 'False') =>
  `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`

const golden: { file: string; dtype: string; shape: number[]; hex: string }[] = JSON.parse(
  readFileSync(new URL('../../../../test/golden/npy/arrays.json', import.meta.url), 'utf8'),
)

describe('npy', () => {
  it('reads what NumPy writes: every type, shape, order and version', () => {
    expect(golden).toHaveLength(88)
    for (const { file, dtype, shape, hex } of golden) {
      const array = decodeNpy(new Uint8Array(Buffer.from(file, 'base64')))
      expect({ ...array, data: Buffer.from(array.data).toString('hex') }).toEqual({ dtype, shape, data: hex })
    }
  })

  it('reads every version, as a view of the input', () => {
    for (const version of [1, 2, 3]) {
      const bytes = npy(
        dict('<f4', '(2, 3)'),
        new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer),
        version,
      )
      const array = decodeNpy(bytes)
      expect(array).toMatchObject({ dtype: 'f32', shape: [2, 3] })
      expect(array.data.buffer).toBe(bytes.buffer)
      expect([...npyNumbers(array)]).toEqual([1, 2, 3, 4, 5, 6])
    }
  })

  it('reads unsigned integers of 64 bits, which no batch has', () => {
    const bytes = new Uint8Array(BigUint64Array.of(2n ** 64n - 1n).buffer)
    expect(decodeNpy(npy(dict('<u8', '(1,)'), bytes))).toMatchObject({
      dtype: 'u64',
      shape: [1],
      data: bytes,
    })
  })

  it('knows scalars, vectors and empty arrays', () => {
    expect(decodeNpy(npy(dict('|u1', '()'), Uint8Array.of(7)))).toMatchObject({ dtype: 'u8', shape: [] })
    expect(decodeNpy(npy(dict('|b1', '(3,)'), Uint8Array.of(1, 0, 1)))).toMatchObject({
      dtype: 'bool',
      shape: [3],
    })
    const empty = decodeNpy(npy(dict('<i8', '(0, 4)'), new Uint8Array(0)))
    expect(empty).toMatchObject({ dtype: 'i64', shape: [0, 4] })
    expect(npyNumbers(empty)).toHaveLength(0)
  })

  it('turns big-endian and Fortran order into what we use', () => {
    const big = decodeNpy(npy(dict('>i2', '(2,)'), Uint8Array.of(1, 2, 255, 254)))
    expect([...npyNumbers(big)]).toEqual([258, -2])
    const columns = decodeNpy(npy(dict('|u1', '(2, 3)', 'True'), Uint8Array.of(1, 4, 2, 5, 3, 6)))
    expect([...npyNumbers(columns)]).toEqual([1, 2, 3, 4, 5, 6])
    const cube = new Uint8Array(24)
    for (let i = 0; i < 2; i++)
      for (let j = 0; j < 3; j++) for (let k = 0; k < 4; k++) cube[i + 2 * (j + 3 * k)] = (i * 3 + j) * 4 + k
    expect([...decodeNpy(npy(dict('|u1', '(2, 3, 4)', 'True'), cube)).data]).toEqual([...Array(24).keys()])
  })

  it('reads halves', () => {
    const bits = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00, 0x8000)
    const values = npyNumbers(decodeNpy(npy(dict('<f2', '(7,)'), new Uint8Array(bits.buffer))))
    expect([...values]).toEqual([1, -2, 2 ** -24, 65504, Infinity, Number.NaN, -0])
  })

  it('refuses what it must not or cannot read, and says what', () => {
    const none = new Uint8Array(64)
    expect(() => decodeNpy(npy(dict('|O', '(1,)'), none))).toThrow(/pickled Python objects, which are never/)
    expect(() =>
      decodeNpy(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", none)),
    ).toThrow(/structured/)
    expect(() => decodeNpy(npy(dict('<c8', '(1,)'), none))).toThrow(/"<c8"/)
    expect(() => decodeNpy(npy(dict('<f8', '(3, 3)'), none))).toThrow(/\(3, 3\) needs 72 bytes.*are 64/)
    expect(() => decodeNpy(npy(dict('<f8', '(999999999999999, 9)'), none))).toThrow(/cut off/)
    expect(() => decodeNpy(npy(dict('<f8', '(-1,)'), none))).toThrow(/header is damaged/)
    expect(() => decodeNpy(npy('{}', none))).toThrow(/header is damaged/)
    expect(() => decodeNpy(npy(`${dict('<f8', '(1,)')} {}`, none))).toThrow(/header is damaged/)
    expect(() => decodeNpy(npy(dict('<f8', '(1,,)'), none))).toThrow(/header is damaged/)
    expect(() => decodeNpy(npy(dict('<f8', '(1,)', 'Maybe'), none))).toThrow(/header is damaged/)
    expect(() => decodeNpy(npy(dict('constructor', '(1,)'), none))).toThrow(/"constructor"/)
    expect(() => decodeNpy(npy(dict('<f8', '(1,)'), none, 4))).toThrow(/version 4/)
    expect(() => decodeNpy(Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59))).toThrow(/cut off within/)
    expect(() => decodeNpy(new Uint8Array(20))).toThrow(/is not an npy array/)
  })

  it('gives every array a shape of its own', () => {
    const bytes = npy(dict('|u1', '(2, 3)'), new Uint8Array(6))
    decodeNpy(bytes).shape[0] = 7
    expect(decodeNpy(bytes).shape).toEqual([2, 3])
  })

  it('an array without elements has none, however long its other sides are', () => {
    const long = Array.from({ length: 30 }, () => '999999999999999').join(', ')
    expect(decodeNpy(npy(dict('<f8', `(${long}, 0)`), new Uint8Array(8))).data).toHaveLength(0)
  })

  it("refuses headers beyond NumPy's limit unread, and reads those within it from left to right", () => {
    const none = new Uint8Array(0)
    const full = `${dict('<f8', '(0,)')}`.padEnd(9999)
    const bytes = (text: string) => {
      const out = Buffer.concat([
        Buffer.from('\x93NUMPY\x02\0\0\0\0\0', 'latin1'),
        Buffer.from(text, 'latin1'),
      ])
      out.writeUInt32LE(text.length, 8)
      return new Uint8Array(out)
    }
    expect(decodeNpy(bytes(full)).shape).toEqual([0])
    expect(() => decodeNpy(bytes(full.padEnd(10_001)))).toThrow(/header has 10001 bytes, more than 10000/)
    // What took 20 seconds: a pattern that begins anew at each of 60,000 places, and reads to the end.
    const slow = `{'descr': '<f8', 'fortran_order': False, ${"'shape':(".repeat(60_000)}`
    expect(() => decodeNpy(bytes(slow))).toThrow(/header has 540041 bytes/)
    expect(() => decodeNpy(bytes(slow.slice(0, 10_000)))).toThrow(/header is damaged/)
    expect(() => decodeNpy(npy(`{'descr'${' '.repeat(9000)}`, none))).toThrow(/header is damaged/)
  })

  it('survives any header: an array, or a DecodeError', () => {
    const word = fc.constantFrom(
      ...[
        '{',
        '}',
        '(',
        ')',
        '[',
        ':',
        ',',
        ' ',
        "'",
        '"',
        "'descr'",
        "'fortran_order'",
        "'shape'",
        'True',
        'False',
      ],
      ...["'<f4'", "'|O'", "'>i8'", '0', '7', '999999999999999', '1L', '-1', '\n', '\0', '\\'],
    )
    const near = fc
      .tuple(fc.nat(), fc.nat({ max: 3 }), fc.array(word, { maxLength: 3 }))
      .map(([at, length, words]) => {
        const text = dict('<f4', '(2, 3)')
        const from = at % text.length
        return text.slice(0, from) + words.join('') + text.slice(from + length)
      })
    const anything = fc.array(word, { maxLength: 40 }).map(words => words.join(''))
    const property = fc.property(fc.oneof(near, anything), text => {
      try {
        const { shape, data } = decodeNpy(npy(text, new Uint8Array(64)))
        const elements = shape.reduce((product, n) => product * n, 1)
        expect(data.length % Math.max(1, elements)).toBe(0)
      } catch (error) {
        expect((error as Error).name).toBe('DecodeError')
      }
    })
    fc.assert(property, { seed: 13 })
  })

  it('survives anything: an array within the input, or a DecodeError', () => {
    const seed = npy(dict('<f4', '(2, 3)', 'True'), new Uint8Array(24))
    const damaged = fc
      .array(fc.tuple(fc.nat(seed.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 12 })
      .map(changes => {
        const bytes = seed.slice()
        for (const [at, value] of changes) bytes[at] = value
        return bytes
      })
    const built = fc
      .tuple(
        fc.constantFrom('<f4', '>i8', '|u1', '|O', 'x', '<f2'),
        fc.array(fc.nat({ max: 2 ** 40 })),
        fc.boolean(),
        fc.uint8Array(),
      )
      .map(([descr, shape, fortran, data]) =>
        npy(dict(descr, `(${shape.join(',')},)`, fortran ? 'True' : 'False'), data),
      )
    const cut = fc.tuple(built, fc.nat()).map(([bytes, n]) => bytes.subarray(0, n % (bytes.length + 1)))
    const property = fc.property(fc.oneof(damaged, built, cut, fc.uint8Array()), bytes => {
      try {
        const { shape, data } = decodeNpy(bytes)
        expect(data.length).toBeLessThanOrEqual(bytes.length)
        expect(shape.every(Number.isSafeInteger)).toBe(true)
      } catch (error) {
        expect((error as Error).name).toBe('DecodeError')
      }
    })
    fc.assert(property)
  })
})
