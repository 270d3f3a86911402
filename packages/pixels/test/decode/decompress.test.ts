import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DecodeError, MissingError } from '../../../core/basics/errors.js'
import { libraryZstd, nodeZstd } from '../../../core/system/codecs/zstd.js'
import { type Codec, decompress } from '../../decode/compressed/decompress.js'
import { decompressLz4, singleBlock } from '../../decode/compressed/lz4.js'

const folder = join(import.meta.dirname, '../../../../test/golden/compressed')
const index: Record<string, { codec: Codec; bytes: number; sha256: string }> = JSON.parse(
  readFileSync(join(folder, 'index.json'), 'utf8'),
)
const names = Object.keys(index)
const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(folder, name)))
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const exactly = (bytes: number) => ({ most: bytes, usual: bytes })

describe('what Python has compressed', () => {
  test.each(names)('%s', name => {
    const { codec, bytes, sha256: expected } = index[name]
    const out = decompress(codec, read(name), exactly(bytes))
    expect(out.length).toBe(bytes)
    expect(sha256(out)).toBe(expected)
    // However the guess of its size was.
    for (const usual of [1, 100, bytes * 3])
      expect(sha256(decompress(codec, read(name), { most: bytes * 4, usual }))).toBe(expected)
  })

  test.each(names)('%s is read from shared memory as well', name => {
    const { codec, bytes, sha256: expected } = index[name]
    const from = read(name)
    const shared = new Uint8Array(new SharedArrayBuffer(from.length + 5), 5)
    shared.set(from)
    expect(sha256(decompress(codec, shared, exactly(bytes)))).toBe(expected)
  })

  test.each(names)('%s: a byte more than allowed is too much', name => {
    const { codec, bytes } = index[name]
    const most = bytes - 1
    expect(() => decompress(codec, read(name), { most, usual: most })).toThrow(
      `decompresses to more than ${most} bytes`,
    )
  })
})

describe('damage', () => {
  test.each(names)('%s, cut off, is an error or what was there', name => {
    const { codec, bytes } = index[name]
    const whole = read(name)
    const good = decompress(codec, whole, exactly(bytes))
    const step = Math.max(1, Math.floor(whole.length / 60))
    for (let length = 0; length < whole.length; length += step) {
      let out: Uint8Array
      try {
        out = decompress(codec, whole.subarray(0, length), exactly(bytes))
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError)
        continue
      }
      // Only between two frames or members, or within a checksum that is not looked at.
      expect(Buffer.compare(out, good.subarray(0, out.length))).toBe(0)
    }
  })

  test('any change of bytes ends in bytes within the bound, or in a DecodeError', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }),
        (name, changes) => {
          const { codec, bytes } = index[name]
          const broken = read(name)
          for (const [at, value] of changes) broken[at % broken.length] = value
          try {
            expect(decompress(codec, broken, exactly(bytes)).length).toBeLessThanOrEqual(bytes)
          } catch (error) {
            if (!(error instanceof DecodeError)) throw error
          }
        },
      ),
    )
  })

  test('noise is no LZ4', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), noise => {
        try {
          expect(decompressLz4(noise, 1e6).length).toBeLessThanOrEqual(1e6)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
    )
  })

  test('the message says what is wrong, and what to look at', () => {
    const most = exactly(8192)
    expect(() => decompress('zlib', read('small.gz'), most)).toThrow(
      'its zlib data can\'t be decompressed (incorrect header check): check that "compression" is',
    )
    expect(() => decompress('zstd', read('small.gz'), most)).toThrow(
      'its zstd data is damaged at byte 0: no Zstandard frame begins here',
    )
    expect(() => decompress('gzip', read('small.zlib'), most)).toThrow(/incorrect header check/)
    expect(() => decompress('lz4', new Uint8Array(0), most)).toThrow('is empty, and should be lz4 data')
    expect(() => decompress('lz4', Uint8Array.of(0x10, 65, 9, 0, 0), most)).toThrow(
      'its lz4 data is damaged at byte 2: a match reaches 9 bytes back, where 1 are',
    )
    const legacy = Uint8Array.of(0x02, 0x21, 0x4c, 0x18, 1, 2)
    expect(() => decompress('lz4', legacy, most)).toThrow(/legacy format/)
    const frame = read('small.frame.lz4')
    frame[4] |= 1
    expect(() => decompress('lz4', frame, most)).toThrow(/with a dictionary/)
    const wrongSize = read('small.frame.lz4')
    wrongSize[6]++
    expect(() => decompress('lz4', wrongSize, most)).toThrow(/it says that it has 8193 bytes, and has 8192/)
  })
})

test('a few bytes that claim to be gigabytes take no memory', () => {
  // 2,000 bytes of 255 as the length of one match: half a megabyte; with a bound of 1,000 nothing is made of it.
  const bomb = new Uint8Array(2010).fill(255)
  bomb.set([0x1f, 65, 1, 0])
  bomb.set([0, 0x50, 1, 2, 3, 4, 5], 2003)
  expect(decompressLz4(bomb, 1e6).length).toBe(1 + 19 + 1999 * 255 + 5)
  expect(() => decompress('lz4', bomb, exactly(1000))).toThrow(/more than 1000 bytes/)
  const zeros = new Uint8Array(2 ** 22)
  for (const [codec, packed] of [
    ['deflate', deflateRawSync(zeros)],
    ['zlib', deflateSync(zeros)],
    ['gzip', gzipSync(zeros)],
  ] as const)
    expect(() => decompress(codec, packed, exactly(1000))).toThrow(/more than 1000 bytes/)
})

test('random stretches that zlib compresses come back', () => {
  const stretch = fc.tuple(fc.nat({ max: 255 }), fc.integer({ min: 1, max: 400 }))
  const data = fc.array(stretch, { maxLength: 40 })
  fc.assert(
    fc.property(data, stretches => {
      const bytes = Uint8Array.from(stretches.flatMap(([value, times]) => Array(times).fill(value)))
      for (const [codec, pack] of [
        ['deflate', deflateRawSync],
        ['zlib', deflateSync],
        ['gzip', gzipSync],
      ] as const) {
        const out = decompress(codec, pack(bytes), exactly(bytes.length))
        expect(Buffer.compare(out, bytes)).toBe(0)
      }
    }),
  )
})

describe('LZ4', () => {
  test('the one block of a frame, or of a bare block with or without its size', () => {
    const bare = read('small.block.lz4')
    for (const name of ['small.frame.lz4', 'unsized.frame.lz4', 'small.block.lz4', 'sized.block.lz4']) {
      const single = singleBlock(read(name))
      expect(single?.size).toBe(8192)
      if (name.includes('block')) expect(Buffer.compare(single!.block, bare)).toBe(0)
      expect(decompressLz4(single!.block, 8192).length).toBe(8192)
    }
    for (const name of ['linked.frame.lz4', 'noise.frame.lz4', 'two-frames.frame.lz4'])
      expect(singleBlock(read(name))).toBeUndefined()
  })
})

describe('zstd', () => {
  test("Node's own is taken where there is one, with the bound passed on", () => {
    expect(nodeZstd(undefined)).toBeUndefined()
    const asked: unknown[] = []
    const fake = nodeZstd((bytes, options) => {
      asked.push(options)
      if (bytes[0] === 1)
        throw Object.assign(new Error('Cannot create a Buffer'), { code: 'ERR_BUFFER_TOO_LARGE' })
      if (bytes[0] === 2)
        throw Object.assign(new Error('Data corruption'), { code: 'ZSTD_error_corruption_detected' })
      return Buffer.of(7)
    })!
    expect(fake(Uint8Array.of(0), 100, 80)).toEqual(Buffer.of(7))
    expect(asked).toEqual([{ maxOutputLength: 100, chunkSize: 81 }])
    expect(fake(Uint8Array.of(1), 100, 80)).toEqual({ problem: 'Cannot create a Buffer', tooLarge: true })
    expect(fake(Uint8Array.of(2), 100, 80)).toEqual({ problem: 'Data corruption', tooLarge: false })
  })

  test('a missing library says how to get it', () => {
    expect(() => libraryZstd(['libnowhere.so.1'])).toThrow(MissingError)
    expect(() => libraryZstd(['libnowhere.so.1'])).toThrow(/apt install libzstd1/)
  })
})

describe('small input, huge work', () => {
  /** A frame with nothing in it: it does not say its size; one raw block, the last, of no bytes. */
  const empty = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x01, 0, 0)
  const repeated = (bytes: Uint8Array, times: number) => {
    const out = new Uint8Array(bytes.length * times)
    for (let i = 0; i < times; i++) out.set(bytes, i * bytes.length)
    return out
  }
  const room = exactly(150_528)

  test('100,000 empty zstd frames are refused, and as many as there may be are nothing', () => {
    expect(() => decompress('zstd', repeated(empty, 100_000), room)).toThrow(
      /^its zstd data has more than 1000 frames: compress it in one$/,
    )
    const skipped = Uint8Array.of(0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0)
    expect(() => decompress('zstd', repeated(skipped, 100_000), room)).toThrow(/more than 1000 frames/)
    expect(decompress('zstd', repeated(empty, 1000), room)).toHaveLength(0)
  })

  test('frames that say their sizes are refused by the sum, before any is made', () => {
    const zeros = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 2, 0, 0x03, 0, 0x10, 0)
    expect(() => decompress('zstd', repeated(zeros, 1000), room)).toThrow(/more than 150528 bytes/)
  })

  test('lz4 ends where its blocks are more than the field can take, and keeps no empty ones', () => {
    const head = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]
    const frame = (block: number[], times: number) =>
      Uint8Array.from([...head, ...repeated(Uint8Array.from(block), times), 0, 0, 0, 0])
    expect(decompress('lz4', frame([0, 0, 0, 0x80], 100_000), room)).toHaveLength(0)
    expect(() => decompress('lz4', frame([1, 0, 0, 0x80, 65], 200_000), room)).toThrow(/more than 150528/)
  })
})

describe('made by hand, whatever is in it', () => {
  const u24 = (n: number) => [n & 255, (n >> 8) & 255, n >> 16]

  /** Blocks of a zstd frame, raw or of one repeated byte, and what they stand for. */
  const zstdFrame = fc
    .record({
      blocks: fc.array(fc.tuple(fc.boolean(), fc.uint8Array({ minLength: 1, maxLength: 40 })), {
        minLength: 1,
        maxLength: 4,
      }),
      sized: fc.boolean(),
      skip: fc.option(fc.uint8Array({ maxLength: 9 })),
    })
    .map(({ blocks, sized, skip }) => {
      const content = blocks
        .flatMap(([rle, data]) => (rle ? data.map(() => data[0]) : data))
        .flatMap(b => [...b])
      const body = blocks.flatMap(([rle, data], i) => {
        const last = i === blocks.length - 1 ? 1 : 0
        return [...u24(last | (rle ? 2 : 0) | (data.length << 3)), ...(rle ? [data[0]] : data)]
      })
      const size = content.length
      const head = sized ? [0xa0, size & 255, size >> 8, 0, 0] : [0x00, 0x58]
      const skipped = skip === null ? [] : [0x51, 0x2a, 0x4d, 0x18, skip.length, 0, 0, 0, ...skip]
      return { bytes: [...skipped, 0x28, 0xb5, 0x2f, 0xfd, ...head, ...body], content }
    })

  /** Sequences of an LZ4 block: literals, and a match that reaches back into what is there. */
  const lz4Block = fc
    .tuple(
      fc.array(
        fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.nat(), fc.integer({ min: 4, max: 400 })),
        { maxLength: 5 },
      ),
      fc.uint8Array({ maxLength: 30 }),
    )
    .map(([sequences, rest]) => {
      const bytes: number[] = []
      const content: number[] = []
      const long = (n: number) =>
        n < 15 ? [] : [...Array(Math.floor((n - 15) / 255)).fill(255), (n - 15) % 255]
      for (const [literals, back, match] of sequences) {
        bytes.push((Math.min(literals.length, 15) << 4) | Math.min(match - 4, 15), ...long(literals.length))
        bytes.push(...literals)
        content.push(...literals)
        const offset = 1 + (back % content.length)
        bytes.push(offset & 255, offset >> 8, ...long(match - 4))
        for (let i = 0; i < match; i++) content.push(content[content.length - offset])
      }
      bytes.push(Math.min(rest.length, 15) << 4, ...long(rest.length), ...rest)
      return { bytes, content: [...content, ...rest] }
    })
  const lz4Frame = fc.array(lz4Block, { maxLength: 3 }).map(blocks => ({
    bytes: [
      ...[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82],
      ...blocks.flatMap(({ bytes }) => [...u24(bytes.length), 0, ...bytes]),
      ...[0, 0, 0, 0],
    ],
    content: blocks.flatMap(({ content }) => content),
  }))
  const several = (one: fc.Arbitrary<{ bytes: number[]; content: number[] }>) =>
    fc.array(one, { minLength: 1, maxLength: 3 }).map(all => ({
      bytes: Uint8Array.from(all.flatMap(({ bytes }) => bytes)),
      content: Buffer.from(all.flatMap(({ content }) => content)),
    }))

  test.each([
    ['zstd', several(zstdFrame)],
    ['lz4', several(lz4Frame)],
  ] as const)(
    '%s is what went into it, within the bound; damaged, it is bytes or a DecodeError',
    (codec, made) => {
      fc.assert(
        fc.property(
          made,
          fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 3 }),
          (whole, changes) => {
            const { bytes, content } = whole
            const most = content.length + 10
            expect(Buffer.compare(decompress(codec, bytes, { most, usual: 5 }), content)).toBe(0)
            if (content.length > 0) {
              expect(() => decompress(codec, bytes, exactly(content.length - 1))).toThrow(
                /decompresses to more than/,
              )
            }
            const broken = bytes.slice()
            for (const [at, value] of changes) broken[at % broken.length] = value
            try {
              expect(decompress(codec, broken, { most, usual: 5 }).length).toBeLessThanOrEqual(most)
            } catch (error) {
              expect(error).toBeInstanceOf(DecodeError)
            }
          },
        ),
        { seed: 13 },
      )
    },
  )
})
