/** Undoing shuffles, by kernel and without: against golden data of numcodecs and HDF5. */
import { expect, test } from 'vitest'
import { bitshuffleBlock, plainUnshuffle, unbitshuffle, unshuffle } from '../../codec/shuffle.js'
import { pieces } from './golden.js'
import { plainUnbitshuffle } from './twins.js'

test('shuffles of numcodecs are undone', () => {
  expect(pieces('shuffle').length).toBeGreaterThan(10)
  for (const { codec, name, packed, content } of pieces('shuffle')) {
    const width = Number(codec.split(' ')[1])
    const [into, plain] = [new Uint8Array(content.length), new Uint8Array(content.length)]
    unshuffle(packed, into, width)
    expect(Buffer.compare(into, content), name).toBe(0)
    plainUnshuffle(packed, plain, packed.length / width, width)
    expect(Buffer.compare(plain, content), name).toBe(0)
  }
})

test("shuffles of bits are undone, in blocks of HDF5's filter", () => {
  expect(pieces('bitshuffle').length).toBe(5)
  for (const { codec, name, packed, content } of pieces('bitshuffle')) {
    const width = Number(codec.split(' ')[1])
    const into = new Uint8Array(content.length)
    unbitshuffle(packed, into, width, bitshuffleBlock(width))
    expect(Buffer.compare(into, content), name).toBe(0)
    const whole = Math.floor(content.length / width / 8) * 8
    const plain = new Uint8Array(whole * width)
    plainUnbitshuffle(packed, plain, whole, width, bitshuffleBlock(width))
    expect(Buffer.compare(plain, content.subarray(0, whole * width)), name).toBe(0)
  }
})

test('what is less than an element, or than eight, stays', () => {
  const into = new Uint8Array(7)
  unshuffle(Uint8Array.of(1, 3, 5, 2, 4, 6, 7), into, 2)
  expect([...into]).toEqual([1, 2, 3, 4, 5, 6, 7])
  const bits = new Uint8Array(9)
  unbitshuffle(Uint8Array.of(255, 0, 0, 0, 0, 0, 0, 1, 9), bits, 1)
  expect([...bits]).toEqual([129, 1, 1, 1, 1, 1, 1, 1, 9])
})

const noise = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31) ^ (i >> 5))

test.each([1, 2, 3, 4, 5, 8, 16, 24, 255])(
  'any number of elements of %i bytes: kernel and plain agree',
  width => {
    for (const count of [0, 1, 15, 16, 17, 63, 64, 65, 1000, width > 24 ? 601 : 9001]) {
      const from = noise(count * width + (width >> 1))
      const [into, plain] = [new Uint8Array(from.length), Uint8Array.from(from)]
      unshuffle(from, into, width)
      plainUnshuffle(from, plain, count, width)
      expect(Buffer.compare(into, plain), `${count} elements`).toBe(0)
      const whole = count & ~7
      for (const block of [8, 24, 4096]) {
        const bits = Uint8Array.from(from)
        unbitshuffle(from, into, width, block)
        plainUnbitshuffle(from, bits, whole, width, block)
        expect(Buffer.compare(into, bits), `${count} elements in blocks of ${block}`).toBe(0)
      }
    }
  },
)
