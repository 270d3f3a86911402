/** The other CUDA kernels, compiled for the CPU, against what they stand for. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { DTYPE_CODES, input, launch, number, output } from '../../../../../bench/gpu/launch.mjs'
import { compileKernels, withoutCompiler } from '../../../../../test/support/gpu/cuda-host.js'
import { runs } from '../../../../../test/support/runs.js'
import { DTYPES, type Dtype, type TypedArray } from '../../../../core/basics/dtype.js'
import { Random } from '../../../../core/basics/random.js'
import { placeOf, synthetic, tensorPool } from '../../../../core/source/made/synthetic.js'
import { mixRows } from '../../../operators/mix/mix.js'
import { mosaicRows } from '../../../operators/mosaic/mosaic.js'
import { mixWords, mosaicWords, writeMix } from '../../../transform/device/parameter-row.js'
import { HEADER_WORDS } from '../../../transform/device/parameter-words.js'

const dtypes = Object.keys(DTYPES).filter(dtype => dtype !== 'bool') as Dtype[]
const bytesOf = (array: TypedArray) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)

describe.skipIf(withoutCompiler)(`kernels on the CPU${withoutCompiler ? `: ${withoutCompiler}` : ''}`, () => {
  let run: ReturnType<typeof compileKernels>
  beforeAll(() => {
    run = compileKernels('address')
  })
  const one = (bytes: Buffer, size: number) => run([{ bytes, size }])[0]

  /** Rows of noise, mixed on the CPU in shared memory as the engine does it, and by the kernel. */
  function mixed(dtype: Dtype, layout: 'chw' | 'hwc', share: number, cut: boolean) {
    const [count, width, height] = [4, 7, 5]
    const shape = layout === 'chw' ? [3, height, width] : [height, width, 3]
    const elements = 3 * width * height
    const rowBytes = elements * DTYPES[dtype].bytes
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 2, shared: true })
    const random = new Random().key(3, 0, 0, 0)
    const { array: View } = DTYPES[dtype]
    const rows = new View(memory.buffer, 0, count * elements)
    for (let i = 0; i < rows.length; i++) {
      if (rows instanceof BigInt64Array) rows[i] = BigInt(random.bits())
      // Any bits will do, but for f16 and bf16: numbers, not NaNs.
      else rows[i] = dtype === 'f16' || dtype === 'bf16' ? random.int(0x7c00) : random.uniform(-300, 300)
    }
    const from = bytesOf(rows.slice() as TypedArray)
    const box = cut ? { box: { x: 2, y: 1, width: 4, height: 3 } } : {}
    const header = new WebAssembly.Memory({ initial: 1 })
    const other = { share: 0.5, box: { x: 0, y: 0, width: 1, height: 1 } }
    writeMix(header, 0, HEADER_WORDS * 4, 1, mixWords(other))
    writeMix(header, 0, HEADER_WORDS * 4, 1, mixWords({ share, ...box }))
    mixRows(
      { share, ...box },
      {
        memory,
        count,
        imageAt: 0,
        rowBytes,
        dtype,
        layout,
        shape,
        labelAt: 65536,
        classes: 4,
        spareAt: 65536 + 4096,
      },
    )
    const args = [
      ...[input(new Uint8Array(header.buffer, 0, HEADER_WORDS * 4)), number(1), number(count)],
      ...[input(from), output(from.length), number(DTYPE_CODES[dtype]), number(layout === 'hwc' ? 1 : 0)],
      ...[number(width), number(height)],
    ]
    return { made: one(launch('mix', 3, 1, args), from.length), wanted: Buffer.from(bytesOf(rows)) }
  }

  it.each(['u8', 'f16', 'bf16', 'f32'] as const)('mixes %s as the CPU does', dtype => {
    for (const share of [0, 0.1, 1 / 3, 0.9999, 1]) {
      const { made, wanted } = mixed(dtype, 'chw', share, false)
      expect(Buffer.compare(made, wanted), `share ${share}`).toBe(0)
    }
  })

  it.each(dtypes)('cuts %s as the CPU does', dtype => {
    for (const layout of ['chw', 'hwc'] as const) {
      const { made, wanted } = mixed(dtype, layout, 0.5, true)
      expect(Buffer.compare(made, wanted)).toBe(0)
    }
  })

  it.each(['u8', 'f16', 'f32', 'f64'] as const)('puts four rows of %s into one as the CPU does', dtype => {
    const [width, height] = [9, 7]
    const { bytes } = DTYPES[dtype]
    const rowBytes = 3 * width * height * bytes
    const mosaic = { seed: 77, threshold: 0xc0000000, x: [2, 7], y: [0, 7] } as const
    const header = new WebAssembly.Memory({ initial: 1 })
    writeMix(header, 0, HEADER_WORDS * 4, 1, mosaicWords(mosaic))
    for (const count of [1, 2, 3, 4, 11])
      for (const layout of ['chw', 'hwc'] as const) {
        const memory = new WebAssembly.Memory({ initial: 4, maximum: 4, shared: true })
        const random = new Random().key(count, 0, 0, 0)
        const rows = new Uint8Array(memory.buffer, 0, count * rowBytes).map(() => random.int(256))
        new Uint8Array(memory.buffer).set(rows)
        const [planes, pixelBytes] = layout === 'chw' ? [3, bytes] : [1, 3 * bytes]
        const where = { memory, count, at: 0, rowBytes, spareAt: 196608 }
        mosaicRows(mosaic, { ...where, width, height, planes, pixelBytes })
        const args = [
          ...[input(new Uint8Array(header.buffer, 0, HEADER_WORDS * 4)), number(0), number(count)],
          ...[input(rows), output(rows.length), number(DTYPE_CODES[dtype]), number(layout === 'hwc' ? 1 : 0)],
          ...[number(width), number(height)],
        ]
        const made = one(launch('mix', 3, 1, args), rows.length)
        const wanted = Buffer.from(new Uint8Array(memory.buffer).slice(0, rows.length))
        expect(Buffer.compare(made, wanted), `${count} rows, ${layout}`).toBe(0)
      }
  })

  it.each(dtypes)('makes the rows of a synthetic source of %s', async dtype => {
    const shape = [3, 7000] // more than a block copies at a time
    const elements = 21_000
    const json = { count: 1000, seed: 5, tensors: { shape, dtype } }
    const source = synthetic.attach(await synthetic.open(json, {} as never, {} as never), {} as never)
    const rows = [0, 1, 255, 256, 999]
    const random = new Random()
    const args = [
      input(tensorPool(dtype, elements, 5)),
      input(Uint32Array.from(rows, row => placeOf(random, 5, row))),
      ...[input(BigInt64Array.from(rows, BigInt)), number(rows.length), number(elements)],
      ...[number(DTYPE_CODES[dtype]), output(rows.length * elements * DTYPES[dtype].bytes)],
    ]
    const made = one(launch('synthetic', 3, 2, args), rows.length * elements * DTYPES[dtype].bytes)
    const wanted = rows.map(row =>
      Buffer.from(source.sample(row, 0, ['data'], { ranges: [], units: [] }).data as Uint8Array),
    )
    expect(Buffer.compare(made, Buffer.concat(wanted))).toBe(0)
  })

  it('Philox gives the known answers of Random123', () => {
    const ones = 0xffffffff
    const vectors = [
      [...[0, 0, 0, 0], ...[0, 0], 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
      [...[ones, ones, ones, ones], ...[ones, ones], 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
      [
        ...[0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0], // digits of pi
        ...[0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
      ],
    ]
    const given = Uint32Array.from(vectors.flatMap(words => words.slice(0, 6)))
    const args = [input(given), number(vectors.length), output(vectors.length * 16)]
    const made = one(launch('philox', 1, 1, args), vectors.length * 16)
    const words = new Uint32Array(Uint8Array.from(made).buffer)
    expect([...words]).toEqual(vectors.flatMap(all => all.slice(6)))
  })

  it('numbers that users draw are spread as they say, and depend on seed, epoch and position', () => {
    const draws = 2000
    const draw = (seed: number, epoch: number, positions: number[]) => {
      const args = [
        ...[number(seed), number(epoch), input(BigInt64Array.from(positions, BigInt))],
        ...[number(positions.length), number(draws), output(positions.length * draws * 12)],
      ]
      return new Float32Array(
        Uint8Array.from(one(launch('draw', 1, 2, args), positions.length * draws * 12)).buffer,
      )
    }
    const numbers = draw(1, 0, [0, 1, 2 ** 40])
    const every = (k: number) => numbers.filter((_, i) => i % 3 === k)
    const mean = (values: Float32Array) => values.reduce((sum, x) => sum + x, 0) / values.length
    const [uniform, whole, normal] = [every(0), every(1), every(2)]
    expect(uniform.every(x => x >= -1 && x < 3)).toBe(true)
    expect(mean(uniform)).toBeCloseTo(1, 1)
    expect(new Set(whole)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
    expect(mean(whole)).toBeCloseTo(4.5, 0)
    expect(mean(normal)).toBeCloseTo(0, 1)
    expect(mean(normal.map(x => x * x))).toBeCloseTo(1, 1)
    // Another seed, epoch or position: other numbers; the same ones: the same.
    const first = (numbers: Float32Array, row = 0) => numbers[row * draws * 3]
    const others = [first(draw(2, 0, [0])), first(draw(1, 1, [0])), first(numbers, 1), first(numbers, 2)]
    expect(new Set([first(numbers), ...others]).size).toBe(5)
    expect(first(draw(1, 0, [2 ** 40]))).toBe(first(numbers, 2))
  })

  it('mixup is right for any share', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), share => {
        const { made, wanted } = mixed('f32', 'hwc', share, false)
        expect(Buffer.compare(made, wanted)).toBe(0)
      }),
      { numRuns: runs(20) },
    )
  })
})
