/** Decompression that begins in the middle of a gzip file: at every block, the same bytes as from the beginning. */

import { constants, crc32, deflateRawSync, gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../core/basics/errors.js'
import { inflatePart } from '../../packed/gzip-part.js'
import { scanGzip } from '../../packed/gzip-scan.js'

interface Block {
  bit: number
  made: number
  window: Uint8Array
}

async function scan(file: Buffer): Promise<{ out: Buffer; blocks: Block[] }> {
  const pieces: Buffer[] = []
  const blocks: Block[] = []
  await scanGzip(async (into, at) => file.copy(into, 0, at), file.length, {
    found: piece => void pieces.push(Buffer.from(piece)),
    block: (bit, made, window) => void blocks.push({ bit, made, window: window() }),
  })
  return { out: Buffer.concat(pieces), blocks }
}

/** Text with repetitions near and far. */
function words(bytes: number, seed = 1): Buffer {
  let state = seed
  const next = (n: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 8) % n
  }
  const parts: string[] = []
  for (let length = 0; length < bytes; length += parts.at(-1)!.length)
    parts.push(next(3) === 0 ? String(next(1e9)) : ['lorem ', 'ipsum ', 'dolor ', 'sit '][next(4)])
  return Buffer.from(parts.join('')).subarray(0, bytes)
}

const FILES: [string, () => Buffer][] = [
  [
    'levels 1, 6 and 9',
    () => Buffer.concat([1, 6, 9].map(level => gzipSync(words(300_000, level), { level }))),
  ],
  ['stored blocks', () => gzipSync(words(200_000), { level: 0 })],
  ['the fixed code', () => gzipSync(words(100_000), { strategy: constants.Z_FIXED })],
  ['noise', () => gzipSync(Buffer.from(Array.from({ length: 90_000 }, (_, i) => (i * i * 31) >> 7)))],
  ['one byte over and over', () => gzipSync(Buffer.alloc(2_000_000, 7))],
  ['nothing', () => gzipSync('')],
  [
    'many small members',
    () => Buffer.concat(Array.from({ length: 50 }, (_, i) => gzipSync(words(i * 40, i + 1)))),
  ],
  ['kinds of blocks in turn', mixed],
  ['a name and padding', () => Buffer.concat([named(words(5000)), Buffer.alloc(512)])],
]

/** One stream whose blocks are compressed, stored and of the fixed code, in turn, so that they begin at any bit. */
function mixed(): Buffer {
  const parts = Array.from({ length: 30 }, (_, i) => {
    const options = [{ level: 9 }, { level: 0 }, { strategy: constants.Z_FIXED }][i % 3]
    return deflateRawSync(words(2000 + 77 * i, i + 1), { ...options, finishFlush: constants.Z_SYNC_FLUSH })
  })
  const out = Buffer.concat(parts.map((_, i) => words(2000 + 77 * i, i + 1)))
  const whole = gzipSync(out)
  return Buffer.concat([whole.subarray(0, 10), ...parts, Buffer.from([3, 0]), whole.subarray(-8)])
}

function named(text: Buffer): Buffer {
  const plain = gzipSync(text)
  plain[3] = 4 | 8 | 16 | 2
  const extra = Buffer.from('\x03\x00abcname\x00comment\x00', 'latin1')
  const header = Buffer.concat([plain.subarray(0, 10), extra])
  const crc = Buffer.alloc(2)
  crc.writeUInt16LE(crc32(header) & 0xffff)
  return Buffer.concat([header, crc, plain.subarray(10)])
}

describe.each(FILES)('%s', (_, make) => {
  const file = make()

  it('is decompressed as zlib does', async () => {
    expect((await scan(file)).out.equals(gunzipSync(file))).toBe(true)
  })

  it('is decompressed from any block to any later one', async () => {
    const { out, blocks } = await scan(file)
    const ends = [...blocks, { bit: 8 * file.length, made: out.length }]
    const chosen =
      blocks.length < 12 ? blocks : blocks.filter((_, i) => i % Math.ceil(blocks.length / 12) === 0)
    for (const { bit, made, window } of chosen) {
      for (const end of [ends.at(-1)!, ...ends.filter(end => end.made > made).slice(0, 3)]) {
        const into = Buffer.alloc(end.made - made)
        inflatePart(file.subarray(bit >> 3, Math.ceil(end.bit / 8)), bit & 7, window, into)
        expect(into.equals(out.subarray(made, end.made))).toBe(true)
      }
    }
  })
})

it('begins at every bit of a byte in these files', async () => {
  const bits = new Set<number>()
  for (const [, make] of FILES) for (const { bit } of (await scan(make())).blocks) bits.add(bit & 7)
  expect([...bits].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

it('says what is wrong with damaged files, and nothing else', async () => {
  const file = gzipSync(words(40_000))
  const tail = Buffer.from(file)
  tail[tail.length - 6] ^= 1
  await expect(scan(tail)).rejects.toThrow(/is damaged at byte \d+: its checksum is wrong/)
  await expect(scan(file.subarray(0, 5000))).rejects.toThrow(/is damaged at byte \d+: it is cut off/)
  await expect(scan(Buffer.concat([file, Buffer.from('x')]))).rejects.toThrow(/no member begins here/)
  await fc.assert(
    fc.asyncProperty(fc.nat(file.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const wrong = Buffer.from(file)
      wrong[at] ^= change
      const error = await scan(wrong).then(
        ({ out }) => (out.equals(words(40_000)) ? undefined : 'other bytes'), // its name or time changed
        error => error,
      )
      if (error !== undefined) expect(error).toBeInstanceOf(DecodeError)
    }),
  )
})
