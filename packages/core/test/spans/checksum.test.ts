import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crcOfWords } from '../../spans/lane.js'

test('is that of zlib, of any words', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 400 }), fc.nat(20), (bytes, skip) => {
      const words = new Uint32Array(bytes.slice(0, bytes.length & ~3).buffer)
      const from = Math.min(skip, words.length)
      const part = new Uint8Array(words.buffer, 4 * from)
      expect(crcOfWords(words, from, words.length)).toBe(crc32(part))
    }),
  )
})
