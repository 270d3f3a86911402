/** Damaged data of every codec: it is refused, or becomes bytes within the buffer. Nothing else is touched. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { survives } from '../../../../test/support/fuzz.js'
import { DecodeError } from '../../basics/errors.js'
import { type CodecName, decompressInto } from '../../codec/codec.js'
import { pieces } from './golden.js'

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

const MARK = 0xa5
const AROUND = 64

function decompress(codec: CodecName, bytes: Uint8Array, room: number): void {
  const all = new Uint8Array(room + 2 * AROUND).fill(MARK)
  try {
    expect(decompressInto(codec, bytes, all.subarray(AROUND, AROUND + room))).toBeLessThanOrEqual(room)
  } finally {
    const untouched = (from: number, to: number) => all.subarray(from, to).every(byte => byte === MARK)
    expect(untouched(0, AROUND) && untouched(AROUND + room, all.length)).toBe(true)
  }
}

test.each(CODECS)('damaged %s', { timeout: 60_000 }, async codec => {
  const all = pieces(codec).filter(({ packed }) => packed.length > 10)
  // Of Blosc there are many: all its codecs and shuffles, of some contents.
  const some = all.filter((_, i) => i % Math.ceil(all.length / 25) === 0)
  for (const { packed, content } of some) {
    await survives(packed, bytes => decompress(codec, bytes, content.length), {
      most: content.length + (128 << 10),
      runs: 60,
      says: new RegExp(`^the ${codec} data `),
    })
  }
})

test.each(CODECS)('noise as %s', codec => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.nat(2000), (noise, room) => {
      try {
        decompress(codec, noise, room)
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError)
      }
    }),
  )
})

test('the helper sees errors of other kinds, and buffers that are too large', async () => {
  const golden = Uint8Array.of(1, 2, 3, 4)
  const failing = (read: () => void) => survives(golden, read, { most: 1000, runs: 3 })
  await expect(failing(() => JSON.parse('{'))).rejects.toThrow(/came out: SyntaxError/)
  await expect(failing(() => new Uint32Array(251))).rejects.toThrow(/1004 bytes were asked for/)
  await expect(failing(() => Buffer.alloc(1001))).rejects.toThrow(/1001 bytes were asked for/)
  await failing(() => new Uint32Array(250))
  const quiet = () => {
    throw new DecodeError('is damaged')
  }
  await failing(quiet)
  await expect(survives(golden, quiet, { most: 1, runs: 3, says: /file\.bin/ })).rejects.toThrow(
    /does not say .*file/,
  )
})
