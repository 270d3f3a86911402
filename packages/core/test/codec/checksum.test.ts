/** Checksums: against the libraries that people use, and published examples. */
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { adler32, crc32c, fletcher32, lookup3, plainCrc32c } from '../../codec/checksum.js'
import { checksums, content } from './golden.js'

const text = (value: string): Uint8Array => new TextEncoder().encode(value)

test('they are those of crc32c and numcodecs', () => {
  for (const [name, expected] of Object.entries(checksums)) {
    const bytes = content(name)
    expect([crc32c(bytes), fletcher32(bytes)], name).toEqual([expected.crc32c, expected.fletcher32])
    expect(plainCrc32c(bytes), name).toBe(expected.crc32c)
    expect(crc32c(bytes.subarray(100), crc32c(bytes.subarray(0, 100))), name).toBe(expected.crc32c)
  }
})

test('they are those of the published examples', () => {
  expect(crc32c(text('123456789'))).toBe(0xe3069283)
  expect(lookup3(text(''))).toBe(0xdeadbeef)
  expect(lookup3(text('Four score and seven years ago'))).toBe(0x17770551)
  expect(lookup3(text('Four score and seven years ago'), 1)).toBe(0xcd628161)
  // Of h5py 3.16 and numcodecs 0.16.
  expect(fletcher32(text('abcdef'))).toBe(0x50562a2d)
  expect(fletcher32(text('abcde'.repeat(401)))).toBe(0xdc7c6603)
})

test('pieces of any length and place give the CRC-32C of the whole', () => {
  const bytes = Uint8Array.from({ length: 100_003 }, (_, i) => (i * 31) ^ (i >> 5))
  const expected = plainCrc32c(bytes)
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 1)).subarray(1)
  shared.set(bytes)
  for (const at of [0, 1, 63, 64, 65, 32768, 40_000]) {
    expect(crc32c(shared.subarray(at), crc32c(shared.subarray(0, at)))).toBe(expected)
  }
})

test('bytes of any number are folded to the same CRC-32C', () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 13)
  const [folded, piece] = [209 * 16, 64 << 10]
  const sizes = [folded, 8 << 10, piece, piece + folded, 2 * piece, 2 * piece + folded, 250_000]
  for (const size of sizes.flatMap(size => [size - 17, size - 1, size, size + 1, size + 15, size + 16])) {
    const some = bytes.subarray(size % 7, size + (size % 7))
    expect(crc32c(some, 0x12345678), `${size}`).toBe(plainCrc32c(some, 0x12345678))
  }
})

test('the multiple by which bytes are folded is one of the polynomial', () => {
  // x^n modulo the polynomial, bits reversed.
  const power = (n: number): number => {
    let rest = 0x80000000
    for (let i = 0; i < n; i++) rest = rest & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1
    return rest
  }
  const terms = [209, 144, 54, 39, 14, 0].map(n => power(128 * n))
  expect(terms.reduce((sum, term) => sum ^ term, 0)).toBe(0)
})

test("Adler's checksum is that of zlib, in one piece and in two", () => {
  expect(adler32(text('Wikipedia'))).toBe(0x11e60398)
  const bytes = new Uint8Array(100_000).fill(255)
  const expected = deflateSync(bytes).readUInt32BE(deflateSync(bytes).length - 4)
  expect(adler32(bytes)).toBe(expected)
  expect(adler32(bytes.subarray(5001), adler32(bytes.subarray(0, 5001)))).toBe(expected)
})
