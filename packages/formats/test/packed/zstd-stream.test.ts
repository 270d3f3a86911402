/** Files of Zstandard, piece by piece: frames of any size, one after the other, and what is wrong with them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { survives } from '../../../../test/support/fuzz.js'
import { streamZstd } from '../../packed/zstd-scan.js'

async function unpacked(bytes: Uint8Array): Promise<Buffer> {
  const pieces: Buffer[] = []
  const read = async (into: Buffer, at: number) => {
    into.set(bytes.subarray(at, at + into.length))
    return into.length
  }
  await streamZstd(read, bytes.length, { found: piece => pieces.push(Buffer.from(piece)) })
  return Buffer.concat(pieces)
}

/** A frame of blocks of one byte each, repeated 131,072 times. */
function repeated(blocks: number): Buffer {
  const frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x50]
  for (let i = 0; i < blocks; i++) {
    const header = ((128 << 10) << 3) | (1 << 1) | (i === blocks - 1 ? 1 : 0)
    frame.push(header & 255, (header >> 8) & 255, header >> 16, i & 255)
  }
  return Buffer.from(frame)
}

const GOLDEN = join(import.meta.dirname, '../../../../test/golden/tokenize')
const golden = readFileSync(join(GOLDEN, 'documents.jsonl.zst'))

test('frames become what they stand for', async () => {
  expect((await unpacked(golden)).equals(readFileSync(join(GOLDEN, 'documents.jsonl')))).toBe(true)
  // More than is made at a time, also exactly a multiple of it.
  for (const blocks of [8, 16, 33]) {
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
    const out = await unpacked(Buffer.concat([repeated(blocks), skippable, golden, repeated(1)]))
    expect(out.length).toBe((blocks + 1) * (128 << 10) + readFileSync(join(GOLDEN, 'documents.jsonl')).length)
    expect(out[(blocks - 1) * (128 << 10)]).toBe(blocks - 1)
  }
  expect((await unpacked(new Uint8Array(0))).length).toBe(0)
})

test('what is cut off or damaged is told', async () => {
  for (const length of [1, 5, 100, golden.length - 1])
    await expect(unpacked(golden.subarray(0, length))).rejects.toThrow(
      /damaged at byte \d+: its last frame is cut off/,
    )
  await expect(unpacked(Buffer.from('no zstd at all'))).rejects.toThrow(/damaged near byte 0/)
  await survives(golden, unpacked, { most: 16 << 20 })
})
