import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'
import { Random } from '../../../core/basics/random.js'
import type { NormalOp } from '../../../core/define/types.js'
import {
  beta,
  chooseMix,
  cutting,
  type Mixing,
  type MixKernel,
  type MixRows,
  mixRows,
  spareBytes,
} from '../../operators/mix/mix.js'
import { kernel } from '../../transform/kernels/load.js'
import { mixBf16, mixF16, mixF32, mixU8 } from './twins/mix.js'

const memory = new WebAssembly.Memory({ initial: 16, maximum: 16, shared: true })
const random = (position: number) => new Random().key(5, 1, position, 77)

interface Given {
  shape: number[]
  images: ArrayLike<number>
  labels: number[]
  dtype?: Dtype
  layout?: 'chw' | 'hwc'
}

/** Lays a batch out in the memory; labels become one-hot rows of `classes`. */
function lay({ shape, images, labels, dtype = 'f32', layout = 'chw' }: Given, classes: number) {
  const [count, ...image] = shape
  const elements = image.reduce((a, b) => a * b, 1)
  const { array, bytes } = DTYPES[dtype]
  const labelAt = 64 + Math.ceil((count * elements * bytes) / 16) * 16
  const spareAt = labelAt + Math.ceil((count * classes * 4) / 16) * 16
  const rows: MixRows = {
    memory,
    count,
    imageAt: 64,
    rowBytes: elements * bytes,
    dtype,
    layout,
    shape: image,
    labelAt,
    classes,
    spareAt,
  }
  const pixels = new array(memory.buffer, 64, count * elements) as Float32Array
  pixels.set(images)
  const soft = new Float32Array(memory.buffer, labelAt, count * classes)
  soft.fill(0)
  for (const [i, label] of labels.entries()) soft[i * classes + label] = 1
  return { rows, pixels, soft, end: spareAt + spareBytes(rows.rowBytes, classes) }
}

const golden = JSON.parse(
  readFileSync(new URL('../../../../test/golden/transforms/mix.json', import.meta.url), 'utf8'),
) as Given & {
  cases: { name: string; lambda: number; box: number[] | null; images: number[]; labels: number[] }[]
}

function mixBatch(op: NormalOp, rows: MixRows, random: Random): void {
  const mixing = chooseMix(op, rows, random)
  if (mixing !== undefined) mixRows(mixing, rows)
}

describe('mixing is torchvision’s, bit by bit', () => {
  it.each(golden.cases.map(it => [it.name, it] as const))('%s', (_, { lambda, box, images, labels }) => {
    const { rows, pixels, soft } = lay(golden, 3)
    const mixing: Mixing = { share: lambda }
    if (box !== null) mixing.box = { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1] }
    mixRows(mixing, rows)
    expect(Array.from(pixels)).toEqual(Array.from(Float32Array.from(images)))
    expect(Array.from(soft)).toEqual(Array.from(Float32Array.from(labels)))
  })

  it('cutmix does the same in the other layout', () => {
    const box = { x: 1, y: 2, width: 3, height: 4 }
    const [count, channels, height, width] = golden.shape
    const index = (n: number, c: number, y: number, x: number) =>
      ((n * channels + c) * height + y) * width + x
    const turned: number[] = []
    for (let n = 0; n < count; n++)
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++)
          for (let c = 0; c < channels; c++) turned.push(golden.images[index(n, c, y, x)])
    const hwc = lay({ ...golden, images: turned, shape: [count, height, width, channels], layout: 'hwc' }, 3)
    mixRows({ share: 0.6, box }, hwc.rows)
    const mixed = Array.from(hwc.pixels)
    const expected = golden.cases[1].images
    let i = 0
    for (let n = 0; n < count; n++)
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++)
          for (let c = 0; c < channels; c++) expect(mixed[i++]).toBe(Math.fround(expected[index(n, c, y, x)]))
  })
})

describe('batches', () => {
  const op = (name: string, p = 1): NormalOp => ({ name, ordinal: 0, params: { p, alpha: 1, classes: 4 } })
  it('of one row mix with themselves, and of none do nothing', () => {
    const one = lay({ shape: [1, 1, 2, 2], images: [1, 2, 3, 4], labels: [2] }, 4)
    mixBatch(op('mixup'), one.rows, random(1))
    for (const [i, x] of [1, 2, 3, 4].entries()) expect(one.pixels[i]).toBeCloseTo(x, 5)
    mixBatch(op('cutmix'), { ...one.rows, count: 0 }, random(1))
  })
  it('keep the sum of every label at 1, and write nothing behind the spare room', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.constantFrom('mixup', 'cutmix'),
        fc.integer({ min: 1, max: 5 }),
        (at, name, n) => {
          const images = Array.from({ length: n * 45 }, (_, i) => i)
          const labels = Array.from({ length: n }, (_, i) => i % 4)
          const batch = lay({ shape: [n, 3, 5, 3], images, labels }, 4)
          const u8 = new Uint8Array(memory.buffer)
          u8.fill(0xab, batch.end, batch.end + 64)
          mixBatch(op(name), batch.rows, random(at))
          for (let i = 0; i < n; i++) {
            const sum = batch.soft.subarray(i * 4, i * 4 + 4).reduce((a, b) => a + b)
            expect(sum).toBeCloseTo(1, 5)
          }
          expect(u8.subarray(batch.end, batch.end + 64).every(byte => byte === 0xab)).toBe(true)
        },
      ),
    )
  })
  it('stay as they are with p = 0, and are the same for the same key', () => {
    const given = { shape: [3, 1, 2, 2], images: Array.from({ length: 12 }, (_, i) => i), labels: [0, 1, 2] }
    const still = lay(given, 4)
    mixBatch(op('mixup', 0), still.rows, random(3))
    expect(Array.from(still.pixels)).toEqual(given.images)
    const results = [9, 9, 10].map(position => {
      const batch = lay(given, 4)
      mixBatch(op('mixup'), batch.rows, random(position))
      return Array.from(batch.pixels)
    })
    expect(results[0]).toEqual(results[1])
    expect(results[0]).not.toEqual(results[2])
  })
  it('cutmix cuts inside the picture, and its share is what is left', () => {
    for (let i = 0; i < 500; i++) {
      const { share, box } = cutting(random(i).next(), 31, 17, random(i + 1))
      expect(box.x >= 0 && box.y >= 0 && box.x + box.width <= 31 && box.y + box.height <= 17).toBe(true)
      expect(share).toBeCloseTo(1 - (box.width * box.height) / (31 * 17), 12)
    }
  })
  it('mixup names the dtypes it can mix', () => {
    const batch = lay({ shape: [2, 1, 1, 1], images: [1, 2], labels: [0, 1] }, 2)
    expect(() => mixRows({ share: 0.5 }, { ...batch.rows, dtype: 'i64' })).toThrow(/f32, f16, bf16, u8/)
  })
})

describe('mix kernels', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const run = kernel<MixKernel>('mix', memory)
  const cases = [
    ['mixF32', mixF32, Float32Array, fc.float({ noNaN: true, noDefaultInfinity: true, max: 1e6, min: -1e6 })],
    ['mixU8', mixU8, Uint8Array, fc.integer({ min: 0, max: 255 })],
    // Every finite half, subnormals and both zeros included.
    ['mixF16', mixF16, Uint16Array, fc.integer({ min: 0, max: 0xffff }).filter(h => (h & 0x7c00) !== 0x7c00)],
    ['mixBf16', mixBf16, Uint16Array, fc.integer({ min: 0, max: 0xffff }).filter(h => (h & 0x7f80) < 0x7f00)],
  ] as const
  it.each(cases)('%s', (name, twin, array, element) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(element, element), { maxLength: 40 }), share, (pairs, s) => {
        const n = pairs.length
        const row = new array(memory.buffer, 128, n + 8) as Float32Array
        const other = new array(memory.buffer, 4096, n) as Float32Array
        for (const [i, [a, b]] of pairs.entries()) [row[i], other[i]] = [a, b]
        row.fill(7, n)
        const expected = row.slice(0, n)
        twin(expected as never, other.slice() as never, s)
        run[name](128, 4096, n, s, 1 - s)
        expect(Array.from(row.subarray(0, n))).toEqual(Array.from(expected))
        expect(Array.from(row.subarray(n))).toEqual(Array(8).fill(7))
      }),
    )
  })
})

describe('beta', () => {
  it.each([0.001, 0.2, 0.5, 1, 1.5, 8])('α = %f has mean 1/2 and the right variance', alpha => {
    const N = 20000
    const source = random(alpha * 1000)
    let [sum, squares] = [0, 0]
    for (let i = 0; i < N; i++) {
      const x = beta(alpha, source)
      expect(x >= 0 && x <= 1).toBe(true)
      sum += x
      squares += (x - 0.5) ** 2
    }
    const variance = 1 / (4 * (2 * alpha + 1))
    expect(Math.abs(sum / N - 0.5)).toBeLessThan(5 * Math.sqrt(variance / N))
    expect(Math.abs(squares / N / variance - 1)).toBeLessThan(0.06)
  })
})
