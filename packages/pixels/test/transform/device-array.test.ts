/** Compressed arrays that are left to a device: what lies in the slot, who decides, and what the CPU does after all. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { DTYPES, elements } from '../../../core/basics/dtype.js'
import type { DeviceCompressed, SlotField } from '../../../core/define/making.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { Compression, FeedJson, FieldJson, NormalField } from '../../../core/define/types.js'
import type { DenseProgram, RowContext } from '../../../core/engine/make/program.js'
import { fieldsForDevice } from '../../../core/engine/plan/making.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { decompress } from '../../decode/compressed/decompress.js'
import { decompressLz4 } from '../../decode/compressed/lz4.js'
import { arrayForDevice, arrayStaysOnCpu, redoArray } from '../../transform/device/array.js'
import { ArrayForm, HEAD_BYTES, Head } from '../../transform/device/array-words.js'
import { payloadOf } from '../../transform/device/compressed.js'
import { compileField } from './compile-field.js'

const folder = join(import.meta.dirname, '../../../../test/golden/compressed')
const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(folder, name)))
/** The array of the golden files that are called long: f32 [49152]. */
const LONG = 196_608
const long = decompress('zstd', read('long.zst'), { most: LONG, usual: LONG })

function feedOf(field: Partial<FieldJson>, more: Partial<FeedJson> = {}) {
  const x = { from: 'x', as: 'npy', dtype: 'f32', shape: [192, 256], compression: 'zstd', ...field }
  return normalizeFeed({ source: { tar: 'a.tar' }, fields: { x }, batch: 2, ...more }, '/')
}

/** A field, and how it lies in the slot for a device. */
interface Left {
  field: NormalField
  layout: SlotField
}

function left(json: Partial<FieldJson>): Left {
  const feed = feedOf(json)
  expect(fieldsForDevice(feed, 'compressed')).toEqual(['x'])
  const [field] = feed.fields
  const layout = arrayForDevice(field)
  return { field, layout }
}

const newRow = (): RowContext => ({
  work: Workspace.alone(1 << 22),
  position: 0,
  chosen: new Map(),
  random: () => {
    throw new Error('nothing is random here')
  },
})

interface Row {
  head: Uint32Array
  /** All bytes behind the head. */
  body: Uint8Array
  redo(): Row
}

/** A row as it lies in the slot. */
function rowOf({ field, layout }: Left, value: Uint8Array): Row {
  const context = newRow()
  const [bytes] = layout.shape
  const at = context.work.take(bytes)
  context.work.u8.fill(0xaa, at, at + bytes)
  ;(
    compileField(field, undefined, { layout, making: { by: 'device', kind: 'compressed' } }) as DenseProgram
  ).run(value, at, context)
  const look = (): Row => ({
    head: new Uint32Array(context.work.u8.slice(at, at + HEAD_BYTES).buffer),
    body: context.work.u8.slice(at + HEAD_BYTES, at + bytes),
    redo() {
      redoArray(field, layout, at, context)
      return look()
    },
  })
  return look()
}

/** What a device makes of a row, by the same library on the CPU. */
function onDevice({ layout }: Left, { head, body }: Row): Uint8Array {
  const { codec } = layout.device as DeviceCompressed
  const stream = body.subarray(0, head[Head.Bytes])
  if (head[Head.Form] === ArrayForm.Raw) return stream
  const size = head[Head.Size]
  return codec === 'lz4'
    ? decompressLz4(stream, size)
    : decompress(codec, stream, { most: size, usual: size })
}

const PACKED: [Compression, string, Uint8Array][] = [
  ['zstd', 'zstd', read('long.zst')],
  ['lz4', 'lz4', read('long.block.lz4')],
  ['deflate', 'deflate', deflateRawSync(long)],
  ['zlib', 'deflate', deflateSync(long)],
  ['gzip', 'deflate', gzipSync(long)],
]

describe('in the slot', () => {
  test.each(PACKED)('%s goes as %s', (compression, codec, packed) => {
    const field = left({ compression })
    expect(field.layout).toMatchObject({ dtype: 'u8', form: 'dense', shape: [HEAD_BYTES + LONG] })
    expect(field.layout.device).toEqual({
      kind: 'compressed',
      codec,
      dtype: 'f32',
      shape: [192, 256],
      headBytes: 64,
    })
    const row = rowOf(field, packed)
    const checksum = { zlib: 4, gzip: 8 }[compression as string] ?? 0
    const wrapped = { zlib: 2, gzip: 10 }[compression as string] ?? 0
    const bytes = packed.length - wrapped - checksum
    expect([...row.head]).toEqual([1, bytes, LONG, checksum, ...new Array(12).fill(0)])
    expect(Buffer.compare(row.body.subarray(0, bytes + checksum), packed.subarray(wrapped))).toBe(0)
    expect(Buffer.compare(onDevice(field, row), long)).toBe(0)

    const redone = row.redo()
    expect([...redone.head.subarray(0, 4)]).toEqual([ArrayForm.Raw, LONG, LONG, 0])
    expect(Buffer.compare(redone.body.subarray(0, LONG), long)).toBe(0)
    expect(Buffer.compare(redone.redo().body.subarray(0, LONG), long)).toBe(0)
  })

  test.each([
    ['lz4', 'linked.frame.lz4'],
    ['lz4', 'independent.frame.lz4'],
  ] as const)('%s in several blocks is decompressed by the maker: %s', (compression, name) => {
    const row = rowOf(left({ compression }), read(name))
    expect([...row.head.subarray(0, 4)]).toEqual([ArrayForm.Raw, LONG, LONG, 0])
    expect(Buffer.compare(row.body.subarray(0, LONG), long)).toBe(0)
  })

  test('a .npy file is decompressed by the maker, whatever its size', () => {
    const text = (descr: string): string =>
      `{'descr': '${descr}', 'fortran_order': False, 'shape': (192, 256), }`.padEnd(117)
    const head = (descr: string): Buffer =>
      Buffer.concat([Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'), Buffer.from(`${text(descr)}\n`)])
    const file = Buffer.concat([head('<f4'), long])
    expect(file.length).toBe(128 + LONG)
    for (const [compression, pack] of [
      ['deflate', deflateRawSync],
      ['zlib', deflateSync],
      ['gzip', gzipSync],
    ] as const) {
      const row = rowOf(left({ compression }), pack(file))
      expect(row.head[Head.Form]).toBe(ArrayForm.Raw)
      expect(Buffer.compare(row.body.subarray(0, LONG), long)).toBe(0)
    }
    const halves = Buffer.concat([head('<f2'), new Uint8Array(LONG / 2)])
    const row = rowOf(left({ compression: 'zlib' }), deflateSync(halves))
    expect(row.head[Head.Form]).toBe(ArrayForm.Raw)
    expect(row.body.subarray(0, LONG).every(byte => byte === 0)).toBe(true)
  })

  test('what did not get smaller goes as elements', () => {
    const noise = Uint8Array.from({ length: LONG }, (_, i) => ((i * 2654435761) >>> 13) ^ (i * i * 31))
    const stored = deflateRawSync(noise, { level: 0 })
    expect(stored.length).toBeGreaterThan(LONG)
    const row = rowOf(left({ compression: 'deflate' }), stored)
    expect(row.head[Head.Form]).toBe(ArrayForm.Raw)
    expect(Buffer.compare(row.body.subarray(0, LONG), noise)).toBe(0)
  })

  test('any array comes out as it does on the CPU', () => {
    const stretch = fc.tuple(fc.nat({ max: 255 }), fc.integer({ min: 1, max: 900 }))
    const packs = { deflate: deflateRawSync, zlib: deflateSync, gzip: gzipSync }
    fc.assert(
      fc.property(
        fc.array(stretch, { minLength: 1, maxLength: 200 }),
        fc.constantFrom<keyof typeof packs>('deflate', 'zlib', 'gzip'),
        fc.constantFrom<'u8' | 'i16' | 'f32' | 'f64'>('u8', 'i16', 'f32', 'f64'),
        fc.nat({ max: 9 }),
        (stretches, compression, dtype, level) => {
          const shape = [64, 257]
          const size = elements(shape) * DTYPES[dtype].bytes
          const pattern = stretches.flatMap(([value, times]) => new Array<number>(times).fill(value))
          const data = Uint8Array.from({ length: size }, (_, i) => pattern[i % pattern.length])
          const field = left({ compression, dtype, shape })
          const row = rowOf(field, packs[compression](data, { level }))
          expect(Buffer.compare(onDevice(field, row), data)).toBe(0)
        },
      ),
      { numRuns: runs(60) },
    )
  })
})

describe('who decides', () => {
  test.each<[string, Partial<FieldJson>, RegExp]>([
    ['not compressed', { compression: undefined }, /no compressed array/],
    ['ragged', { ragged: {} }, /vary in length/],
    ['bf16', { dtype: 'bf16' }, /bf16 are made from others/],
    ['small', { shape: [64, 63] }, /has only 16128 bytes/],
    ['not aligned', { dtype: 'u8', shape: [129, 131] }, /16899 bytes are no multiple of 8/],
    ['huge', { shape: [4097, 1024] }, /more than 16777216/],
    ['mapped', { map: { call: { module: 'a.js', export: 'f', hash: 'x' } } }, /a function of yours/],
  ])('%s stays on the CPU', (_, field, why) => {
    const feed = feedOf(field)
    expect(arrayStaysOnCpu(feed.fields[0], feed)).toMatch(why)
    expect(fieldsForDevice(feed, 'compressed')).toEqual([])
  })

  test('bytes stay on the CPU', () => {
    const feed = normalizeFeed(
      { source: { tar: 'a' }, fields: { x: { from: 'x', as: 'bytes', compression: 'gzip' } }, batch: 2 },
      '/',
    )
    expect(fieldsForDevice(feed, 'compressed')).toEqual([])
  })

  test.each([
    ['streamed, without a size', 'zstd', read('streamed.zst')],
    ['two frames', 'zstd', read('two-frames.zst')],
    ['another size', 'zstd', read('npy.zst')],
    ['two members', 'gzip', read('two-members.gz')],
    ['no frame', 'zstd', read('small.gz')],
    ['no member', 'gzip', read('small.zst')],
    ['no header', 'zlib', read('small.deflate')],
    ['too short', 'gzip', read('small.gz').subarray(0, 12)],
    ['nothing', 'zlib', new Uint8Array(0)],
    ['cut off', 'zstd', read('small.zst').subarray(0, 4000)],
    ['cut off', 'lz4', read('small.block.lz4').subarray(0, 4000)],
  ] as const)('%s (%s): not for the device', (_, compression, bytes) => {
    expect(payloadOf(compression, bytes, 8192)).toBeUndefined()
  })

  test.each([
    'small.zst',
    'checked.zst',
    'small.gz',
    'named.gz',
    'small.zlib',
    'small.deflate',
    'sized.block.lz4',
    'small.frame.lz4',
  ])('%s: for the device', name => {
    const codec = ({ zst: 'zstd', gz: 'gzip' } as Record<string, Compression>)[name.split('.').at(-1)!]
    const { stream } = payloadOf(codec ?? (name.split('.').at(-1) as Compression), read(name), 8192)!
    expect(stream.length).toBeGreaterThan(4000)
  })
})

describe('damage', () => {
  test('found by the maker: the same error as on the CPU', () => {
    for (const [compression, , packed] of PACKED) {
      const broken = packed.slice(0, packed.length >> 1)
      const plain = feedOf({ compression }).fields[0]
      const context = newRow()
      const said = (run: () => unknown): string => {
        try {
          run()
        } catch (error) {
          return (error as Error).message
        }
        return 'nothing'
      }
      const cpu = said(() =>
        (compileField(plain) as DenseProgram).run(broken, context.work.take(LONG), context),
      )
      expect(cpu).toContain(`its ${compression} data`)
      const field = left({ compression })
      if (compression === 'deflate' || compression === 'zlib') {
        // Nothing in the header tells: the device refuses it, and then the CPU says why.
        expect(said(() => rowOf(field, broken).redo())).toContain(`its ${compression} data`)
      } else expect(said(() => rowOf(field, broken))).toBe(cpu)
    }
  })

  test('a wrong checksum is found when the CPU does it after all', () => {
    for (const [compression, pack] of [
      ['zlib', deflateSync],
      ['gzip', gzipSync],
    ] as const) {
      const packed = pack(long)
      packed[packed.length - (compression === 'gzip' ? 5 : 1)] ^= 1
      const row = rowOf(left({ compression }), packed)
      expect(row.head[Head.Form]).toBe(ArrayForm.Compressed)
      expect(() => row.redo()).toThrow(/incorrect data check/)
    }
  })

  test('fewer bytes than the field has', () => {
    const row = rowOf(left({ compression: 'deflate' }), deflateRawSync(long.subarray(4)))
    expect(() => row.redo()).toThrow(`its ${LONG - 4} bytes are not the ${LONG} of f32 [192, 256]`)
  })
})
