/** Arguments as C has them, byte by byte. */
import { describe, expect, test } from 'vitest'
import {
  argumentBytes,
  COPY_2D_BYTES,
  decodeArrays,
  type KernelArgument,
  writeArguments,
  writeDecodeArrays,
  writeUpload2D,
} from '../../driver/structs.js'

/** Bytes as little-endian 64-bit words, in hex. */
function words(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.length / 8 }, (_, i) => view.getBigUint64(i * 8, true).toString(16))
}

describe('arguments of a kernel', () => {
  test('a table of pointers, then the values', () => {
    const args: KernelArgument[] = [
      0x7f00_1234_5678n,
      -1,
      { devicePointer: 0xabcdn },
      { f32: 1 },
      { f64: 1 },
      { u32: 0xffff_ffff },
      { i64: -2n },
    ]
    const bytes = Buffer.alloc(argumentBytes(args), 0)
    writeArguments(args, bytes, 0x1000n)
    expect(words(bytes)).toEqual([
      ...['1040', '1050', '1060', '1070', '1080', '1090', '10a0', '0'],
      ...['7f0012345678', '0'],
      ...['ffffffff', '0'],
      ...['abcd', '0'],
      ...['3f800000', '0'],
      ...['3ff0000000000000', '0'],
      ...['ffffffff', '0'],
      ...['fffffffffffffffe', '0'],
    ])
  })

  test('a struct is passed by value, of whatever length', () => {
    const struct = Uint8Array.from({ length: 40 }, (_, i) => i + 1)
    const bytes = Buffer.alloc(argumentBytes([struct, 7]))
    writeArguments([struct, 7], bytes, 0n)
    expect(bytes.readBigUInt64LE(0)).toBe(16n)
    expect(bytes.readBigUInt64LE(8)).toBe(64n)
    expect([...bytes.subarray(16, 56)]).toEqual([...struct])
    expect(bytes.readInt32LE(64)).toBe(7)
    expect(bytes.length).toBe(80)
  })

  test('a number that is no int is refused: nobody can know which type was meant', () => {
    for (const wrong of [0.5, 2 ** 31, Number.NaN]) {
      expect(() => writeArguments([1, wrong], Buffer.alloc(64), 0n)).toThrow(/argument 1 .* is no int/)
    }
  })
})

test('CUDA_MEMCPY2D', () => {
  const bytes = Buffer.alloc(COPY_2D_BYTES, 0xee)
  writeUpload2D(
    { from: 0x1111_0000n, fromPitch: 4096, to: 0x7fff_0000_0000n, toPitch: 192, width: 192, height: 256 },
    bytes,
  )
  expect(words(bytes)).toEqual([
    ...['0', '0', '1', '11110000', '0', '0', '1000'],
    ...['0', '0', '2', '0', '7fff00000000', '0', 'c0'],
    ...['c0', '100'],
  ])
})

test('the arrays of nvjpegDecodeBatched; what is left of a longer batch is gone', () => {
  const arrays = decodeArrays(3)
  for (const array of Object.values(arrays)) array.fill(0xee)
  writeDecodeArrays(
    [
      { from: 0x10n, bytes: 29_000, to: 0x7000n, width: 224, sampling: 0x22 },
      { from: 0x2000n, bytes: 1, to: 0x9000n, width: 1, sampling: 0 },
    ],
    arrays,
  )
  expect(words(arrays.data).slice(0, 2)).toEqual(['10', '2000'])
  expect(words(arrays.lengths).slice(0, 2)).toEqual(['7148', '1'])
  expect(words(arrays.images.subarray(0, 128))).toEqual([
    ...['7000', '0', '0', '0', '2a0', '0', '0', '0'],
    ...['9000', '0', '0', '0', '3', '0', '0', '0'],
  ])
})
