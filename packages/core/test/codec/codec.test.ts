/** Decompressing into a given buffer: against golden data made by the libraries that people use. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DecodeError } from '../../basics/errors.js'
import { type CodecName, decompressInto } from '../../codec/codec.js'
import { pieces } from './golden.js'
import { plainBlock, plainBlosclz, plainLzf, plainSnappy } from './twins.js'

const CODECS = [
  'deflate',
  'zlib',
  'gzip',
  'brotli',
  'zstd',
  'lz4',
  'lz4-block',
  'snappy',
  'lzf',
  'blosc',
] as const

/** What stands around a buffer, to see that nothing is written there. */
const MARK = 0xa5
const AROUND = 67

/** Decompresses to the middle of a larger buffer, of which nothing else may change. */
function unpacked(codec: CodecName, from: Uint8Array, room: number, buffer: ArrayBufferLike): Uint8Array {
  const all = new Uint8Array(buffer).fill(MARK)
  const into = all.subarray(AROUND, AROUND + room)
  const bytes = decompressInto(codec, from, into)
  const outside = [...all.subarray(0, AROUND), ...all.subarray(AROUND + room)]
  expect(outside.every(byte => byte === MARK)).toBe(true)
  return into.subarray(0, bytes)
}

describe.each(CODECS)('%s', codec => {
  const all = pieces(codec)

  test('fills private and shared buffers of its size, and larger ones', () => {
    expect(all.length).toBeGreaterThan(4)
    for (const { name, packed, content } of all) {
      for (const room of [content.length, content.length + 1000]) {
        const shared = new SharedArrayBuffer(room + 2 * AROUND)
        for (const buffer of [new ArrayBuffer(room + 2 * AROUND), shared]) {
          expect(Buffer.compare(unpacked(codec, packed, room, buffer), content), name).toBe(0)
        }
      }
      const from = new Uint8Array(new SharedArrayBuffer(packed.length + 3)).subarray(3)
      from.set(packed)
      const out = unpacked(codec, from, content.length, new ArrayBuffer(content.length + 2 * AROUND))
      expect(Buffer.compare(out, content), name).toBe(0)
    }
  })

  test('is refused where it does not fit', () => {
    for (const { name, packed, content } of all) {
      if (content.length === 0) continue
      for (const room of [0, content.length >> 1, content.length - 1]) {
        const buffer = new ArrayBuffer(room + 2 * AROUND)
        expect(() => unpacked(codec, packed, room, buffer), `${name} to ${room}`).toThrow(
          `the ${codec} data decompresses to more than the`,
        )
      }
    }
  })

  test('is refused where it is cut off, or gives less', () => {
    for (const { packed, content } of all) {
      const into = new Uint8Array(content.length)
      for (const length of [1, 5, packed.length >> 1, packed.length - 1]) {
        if (length >= packed.length) continue
        let bytes = 0
        try {
          bytes = decompressInto(codec, packed.subarray(0, length), into)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
          expect((error as Error).message).toMatch(new RegExp(`^the ${codec} data `))
          continue
        }
        // A stream that ends after one of its parts looks whole: the caller knows what it should have.
        expect(bytes).toBeLessThanOrEqual(content.length)
      }
    }
  })
})

describe('without libraries of the system', () => {
  beforeAll(() => {
    vi.resetModules()
    vi.stubEnv('MILLRACE_CODECS', 'node')
  })
  afterAll(() => {
    vi.unstubAllEnvs()
    vi.resetModules()
  })

  test.each(['deflate', 'zlib', 'gzip', 'zstd', 'lz4', 'lz4-block', 'blosc'] as const)('%s', async codec => {
    const { libdeflate, liblz4, libzstd } = await import('../../codec/libraries.js')
    expect([libdeflate(), liblz4(), libzstd()]).toEqual([null, null, null])
    const fresh = await import('../../codec/codec.js')
    for (const { name, packed, content } of pieces(codec)) {
      const into = new Uint8Array(content.length)
      expect(fresh.decompressInto(codec, packed, into), name).toBe(content.length)
      expect(Buffer.compare(into, content), name).toBe(0)
    }
  })
})

describe('by the twins of kernels', () => {
  test.each([
    ['lz4-block', plainBlock],
    ['lzf', plainLzf],
  ] as const)('%s', (codec, plain) => {
    for (const { name, packed, content } of pieces(codec)) {
      const into = new Uint8Array(content.length)
      expect(plain(packed, into), name).toBe(content.length)
      expect(Buffer.compare(into, content), name).toBe(0)
    }
  })

  test('snappy', () => {
    for (const { name, packed, content } of pieces('snappy')) {
      const start = 1 + packed.findIndex(byte => byte < 128)
      const into = new Uint8Array(content.length)
      plainSnappy(packed, start, into)
      expect(Buffer.compare(into, content), name).toBe(0)
    }
  })

  test('blosclz, of chunks that are one stream', () => {
    const chunks = pieces('blosc').filter(({ name, packed }) => {
      const oneBlock = packed.readUInt32LE(4) === packed.readUInt32LE(8)
      return name.includes('blosclz, plain') && oneBlock && (packed[2] & 2) === 0 && packed[3] === 1
    })
    const streams = chunks.map(({ packed, ...rest }) => {
      const at = packed.readUInt32LE(16)
      return { ...rest, stream: packed.subarray(at + 4, at + 4 + packed.readInt32LE(at)) }
    })
    const compressed = streams.filter(({ stream, content }) => stream.length < content.length)
    expect(compressed.length).toBeGreaterThan(0)
    for (const { name, stream, content } of compressed) {
      const into = new Uint8Array(content.length)
      expect(plainBlosclz(stream, into), name).toBe(content.length)
      expect(Buffer.compare(into, content), name).toBe(0)
    }
  })
})

test.each<[CodecName, number[], string]>([
  // 3 literals, a match of 4 from 3 bytes back, 1 literal
  ['lz4-block', [0x30, 97, 98, 99, 3, 0, 0x10, 33], 'abcabca!'],
  ['snappy', [8, 0x08, 97, 98, 99, 0x01, 3, 0x00, 33], 'abcabca!'],
  ['lzf', [2, 97, 98, 99, 0x40, 2, 0, 33], 'abcabca!'],
])('%s, by hand', (codec, packed, expected) => {
  const into = new Uint8Array(20)
  const bytes = decompressInto(codec, Uint8Array.from(packed), into)
  expect(new TextDecoder().decode(into.subarray(0, bytes))).toBe(expected)
  expect(into.subarray(bytes).every(byte => byte === 0)).toBe(true)
})

test('what is wrong is said', () => {
  const into = new Uint8Array(1000)
  const why = (codec: CodecName, ...bytes: number[]) => {
    try {
      return decompressInto(codec, Uint8Array.from(bytes), into)
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(why('zlib')).toBe('the zlib data is empty')
  expect(why('zlib', 1, 2, 3)).toBe("the zlib data can't be decompressed (incorrect header check)")
  expect(why('snappy', 8, 0x01, 3)).toBe(
    'the snappy data is damaged at byte 2: a match reaches 3 bytes back, where 0 are',
  )
  expect(why('snappy', 200, 1, 0, 33)).toBe(
    'the snappy data is damaged at byte 4: it has 1 bytes, and says that it has 200',
  )
  expect(why('lz4-block', 0x30, 97)).toBe('the lz4-block data is damaged at byte 2: it is cut off')
  expect(why('lz4', 1, 2, 3, 4, 5)).toBe('the lz4 data is damaged at byte 0: no LZ4 frame begins here')
  expect(why('zstd', 1, 2, 3, 4, 5, 6, 7, 8, 9)).toBe(
    'the zstd data is damaged at byte 0: no Zstandard frame begins here',
  )
  expect(why('blosc', 5, 1, 0, 1, ...new Array(12).fill(0))).toMatch(/format version is 5.*not Blosc2/)
  expect(why('lzf', 200, 1)).toMatch(/a match reaches 2050 bytes back, where 0 are/)
})
