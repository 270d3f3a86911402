/** Fields whose bytes are compressed, as a .npy file or as bare elements, dense or of varying length. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { DTYPES, elements } from '../../../core/basics/dtype.js'
import { decodeNpy } from '../../../core/basics/npy/file.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { FieldJson, NormalField } from '../../../core/define/types.js'
import type { DenseProgram, RowContext, VaryingProgram } from '../../../core/engine/make/program.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { compileField } from './compile-field.js'

const folder = join(import.meta.dirname, '../../../../test/golden/compressed')
const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(folder, name)))

function fieldOf(json: FieldJson): NormalField {
  return normalizeFeed({ source: { tar: 'a.tar' }, fields: { x: json }, batch: 2 }, '/').fields[0]
}

const context = (): RowContext => ({
  work: Workspace.alone(),
  position: 0,
  chosen: new Map(),
  random: () => {
    throw new Error('nothing is random here')
  },
})

/** What a field as bytes becomes. */
function compileBytes(compression: FieldJson['compression'], name: string, max = 100_000): Uint8Array {
  const program = compileField(
    fieldOf({ from: 'x', as: 'bytes', compression, ragged: { max } }),
  ) as VaryingProgram
  const row = context()
  const { at, length } = program.run(read(name), row) as { at: number; length: number }
  return row.work.u8.slice(at, at + length)
}

function dense(json: Partial<FieldJson>, value: Uint8Array): Uint8Array {
  const field = fieldOf({ from: 'x', as: 'npy', dtype: 'f32', shape: [32, 64], ...json })
  const row = context()
  const bytes = elements(field.layout.shape) * DTYPES[field.layout.dtype].bytes
  const at = row.work.take(bytes)
  ;(compileField(field) as DenseProgram).run(value, at, row)
  return row.work.u8.slice(at, at + bytes)
}

const plain = decodeNpy(compileBytes('zstd', 'npy.zst'))

describe('a compressed array', () => {
  test.each([
    ['zstd', 'small.zst'],
    ['zstd', 'npy.zst'],
    ['zstd', 'streamed.zst'],
    ['lz4', 'npy.frame.lz4'],
    ['lz4', 'sized.block.lz4'],
    ['lz4', 'small.block.lz4'],
    ['deflate', 'small.deflate'],
    ['zlib', 'npy.zlib'],
    ['zlib', 'small.zlib'],
    ['gzip', 'named.gz'],
    ['gzip', 'two-members.gz'],
  ] as const)('by %s, %s', (compression, name) => {
    expect(Buffer.compare(dense({ compression }, read(name)), plain.data)).toBe(0)
  })

  test('of another element type is converted', () => {
    const f64 = dense({ compression: 'zstd', dtype: 'f64' }, read('npy.zst'))
    const expected = Float64Array.from(new Float32Array(plain.data.slice().buffer))
    expect(new Float64Array(f64.buffer)).toEqual(expected)
  })

  test('of varying length', () => {
    const field = fieldOf({
      from: 'x',
      as: 'npy',
      dtype: 'f32',
      shape: [40, 64],
      ragged: {},
      compression: 'zlib',
    })
    const row = context()
    const placed = (compileField(field) as VaryingProgram).run(read('small.zlib'), row)
    const { at, length } = placed as { at: number; length: number }
    expect(length).toBe(32)
    expect(Buffer.compare(row.work.u8.slice(at, at + 8192), plain.data)).toBe(0)
  })

  test('a function of the field gets the array', async () => {
    const field = fieldOf({ from: 'x', as: 'npy', dtype: 'f32', shape: [32, 64], compression: 'zstd' })
    const seen: unknown[] = []
    const program = compileField(field, value => {
      seen.push(value)
      return value
    }) as DenseProgram
    const row = { ...context(), random: () => undefined as never }
    await program.run(read('npy.zst'), row.work.take(8192), row)
    expect(seen).toMatchObject([{ dtype: 'f32', shape: [32, 64] }])
  })

  test('that does not fit is refused before it is made', () => {
    const megabytes = new Uint8Array(2 ** 22)
    expect(() => dense({ compression: 'gzip', shape: [8, 4] }, gzipSync(megabytes))).toThrow(
      /decompresses to more than 10268 bytes.*check its shape and dtype/,
    )
    expect(() => dense({ compression: 'deflate' }, deflateRawSync(megabytes.subarray(0, 8188)))).toThrow(
      /its 8188 bytes are not the 8192 of f32 \[32, 64\]/,
    )
    expect(() => compileBytes('gzip', 'small.gz', 8191)).toThrow(/more than 8191 bytes/)
  })
})
