/** Decompressing into a given buffer: each codec, against golden data made by the libraries that people use. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { DecodeError } from '../../src/basics/errors.js'
import { crc32c, fletcher32, lookup3 } from '../../src/codec/checksum.js'
import { type CodecName, decompressInto } from '../../src/codec/codec.js'
import { unbitshuffle, unshuffle } from '../../src/codec/shuffle.js'

const text = (value: string): Uint8Array => new TextEncoder().encode(value)
const CONTENT = text('the quick brown fox jumps over the lazy dog. '.repeat(100))

describe.each([
  ['deflate', deflateRawSync(CONTENT)],
  ['zlib', deflateSync(CONTENT)],
  ['gzip', Buffer.concat([gzipSync(CONTENT.subarray(0, 1000)), gzipSync(CONTENT.subarray(1000))])],
  ['brotli', brotliCompressSync(CONTENT)],
] as const)('%s', (codec, packed) => {
  test('fills the buffer', () => {
    const into = new Uint8Array(CONTENT.length)
    expect(decompressInto(codec, packed, into)).toBe(CONTENT.length)
    expect(Buffer.compare(into, CONTENT)).toBe(0)
  })

  test('is refused where it does not fit, or is cut off', () => {
    expect(() => decompressInto(codec, packed, new Uint8Array(CONTENT.length - 1))).toThrow(
      `the ${codec} data decompresses to more than the ${CONTENT.length - 1} bytes that it should have`,
    )
    const half = packed.subarray(0, packed.length >> 1)
    expect(() => decompressInto(codec, half, new Uint8Array(CONTENT.length))).toThrow(DecodeError)
  })
})

test.each<[CodecName, number[], string]>([
  // token 3 literals + match of 4 from 3 back, then 1 literal
  ['lz4-block', [0x30, 97, 98, 99, 3, 0, 0x10, 33], 'abcabca!'],
  ['snappy', [8, 0x08, 97, 98, 99, 0x01, 3, 0x00, 33], 'abcabca!'],
  ['lzf', [2, 97, 98, 99, 0x40, 2, 0, 33], 'abcabca!'],
])('%s, by hand', (codec, packed, expected) => {
  const into = new Uint8Array(20)
  const bytes = decompressInto(codec, Uint8Array.from(packed), into)
  expect(new TextDecoder().decode(into.subarray(0, bytes))).toBe(expected)
  expect(into.subarray(bytes).every(byte => byte === 0)).toBe(true)
})

test('a byte shuffle and a bit-shuffle are undone, the rest stays', () => {
  const into = new Uint8Array(7)
  unshuffle(Uint8Array.of(1, 3, 5, 2, 4, 6, 7), into, 2)
  expect([...into]).toEqual([1, 2, 3, 4, 5, 6, 7])
  const bits = new Uint8Array(9)
  unbitshuffle(Uint8Array.of(255, 0, 0, 0, 0, 0, 0, 1, 9), bits, 1)
  expect([...bits]).toEqual([129, 1, 1, 1, 1, 1, 1, 1, 9])
})

test('checksums are those of the published examples', () => {
  expect(crc32c(text('123456789'))).toBe(0xe3069283)
  expect(crc32c(text('6789'), crc32c(text('12345')))).toBe(0xe3069283)
  expect(lookup3(text(''))).toBe(0xdeadbeef)
  expect(lookup3(text('Four score and seven years ago'))).toBe(0x17770551)
  expect(lookup3(text('Four score and seven years ago'), 1)).toBe(0xcd628161)
  // Of h5py 3.16 and numcodecs 0.16.
  expect(fletcher32(text('abcdef'))).toBe(0x50562a2d)
  expect(fletcher32(text('abcde'.repeat(401)))).toBe(0xdc7c6603)
})
