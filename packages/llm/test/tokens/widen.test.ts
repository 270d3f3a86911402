/** The kernel that widens tokens gives what its plain twin gives, for any tokens, and writes nothing else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TOKEN_CODES, tokenKernel } from '../../tokens/kernels/load.js'
import { widenPlain } from './widen.js'

const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
const u8 = new Uint8Array(memory.buffer)
const { widen, widenPair, greatest, fill, ascend } = tokenKernel(memory)
const MARK = 0xaa
const [FROM, INPUT, TARGET] = [256, 8192, 16384]

const someTokens = (source: keyof typeof TOKEN_CODES): fc.Arbitrary<Uint8Array> => {
  const size = source === 'u16' ? 2 : 4
  const edges = fc.constantFrom(0, 1, 255, 256, 32767, 32768, 65535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1)
  const token = fc.oneof(edges, fc.nat({ max: 70000 }))
  return fc.array(token, { maxLength: 70 }).map(tokens => {
    const bytes = new DataView(new ArrayBuffer(tokens.length * size))
    for (const [i, t] of tokens.entries())
      if (size === 2) bytes.setUint16(2 * i, t, true)
      else bytes.setUint32(4 * i, t, true)
    return new Uint8Array(bytes.buffer)
  })
}

/** The bytes that were written at `at`; those around them are as they were. */
function written(at: number, bytes: number): Uint8Array {
  expect([...u8.slice(at - 16, at), ...u8.slice(at + bytes, at + bytes + 16)]).toEqual(Array(32).fill(MARK))
  return u8.slice(at, at + bytes)
}

describe.each(Object.entries(TOKEN_CODES))('%s', (name, code) => {
  const source = name as keyof typeof TOKEN_CODES
  const bytesOf = source === 'u16' ? 2 : 4
  test.each([4, 8] as const)('to elements of %i bytes', size => {
    fc.assert(
      fc.property(
        someTokens(source),
        fc.nat({ max: 5 }),
        fc.nat({ max: 5 }),
        fc.nat({ max: 2 }),
        (bytes, skip, less, odd) => {
          const count = bytes.length / bytesOf
          const [first, last] = [Math.min(skip, count), Math.max(Math.min(skip, count), count - less)]
          const from = FROM + odd * bytesOf // files are cut anywhere
          u8.fill(MARK)
          u8.set(bytes, from)
          const plain = widenPlain(source, size, bytes, first, last)
          expect(widen(code, size, from, first, last, INPUT) >>> 0).toBe(plain.greatest)
          expect(written(INPUT, plain.elements.length)).toEqual(plain.elements)

          u8.fill(MARK)
          u8.set(bytes, from)
          const inputs = widenPlain(source, size, bytes, 0, count - 1)
          const targets = widenPlain(source, size, bytes, 1, count)
          const most = widenPlain(source, size, bytes, 0, count).greatest
          expect(widenPair(code, size, from, count, INPUT, TARGET) >>> 0).toBe(most)
          expect(greatest(code, from, count) >>> 0).toBe(most)
          expect(written(INPUT, inputs.elements.length)).toEqual(inputs.elements)
          expect(written(TARGET, targets.elements.length)).toEqual(targets.elements)
        },
      ),
    )
  })
})

const ELEMENTS = {
  1: (bytes: Uint8Array) => Array.from(bytes),
  4: (bytes: Uint8Array) => Array.from(new Int32Array(bytes.buffer)),
  8: (bytes: Uint8Array) => Array.from(new BigInt64Array(bytes.buffer), Number),
}

test.each([1, 4, 8] as const)('elements of %i bytes: one number, and numbers that ascend', size => {
  const value = size === 1 ? 200 : -100
  for (let count = 0; count < 12; count++) {
    u8.fill(MARK)
    fill(size, INPUT, count, value)
    expect(ELEMENTS[size](written(INPUT, size * count))).toEqual(Array(count).fill(value))
    if (size === 1) continue
    u8.fill(MARK)
    ascend(size, INPUT, count, 7)
    const ascending = Array.from({ length: count }, (_, i) => 7 + i)
    expect(ELEMENTS[size](written(INPUT, size * count))).toEqual(ascending)
  }
})
