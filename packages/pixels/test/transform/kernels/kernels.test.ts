/** Every kernel against its plain twin: odd sizes, gaps between rows, one pixel, and nothing touched around them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../../../test/support/runs.js'
import { Workspace } from '../../../../core/system/memory/workspace.js'
import type { Picture } from '../../../decode/picture/picture.js'
import { inverseMatrix } from '../../../operators/affine/step.js'
import type { ColorKernel } from '../../../operators/color-kernel.js'
import { gaussian } from '../../../operators/gaussianBlur/blur.js'
import { applyStep, type Step } from '../../../operators/steps.js'
import { kernel } from '../../../transform/kernels/load.js'
import { bytesOf, put } from '../pictures.js'
import * as colorTwins from '../twins/color.js'
import * as filterTwins from '../twins/filter.js'
import * as twins from '../twins/warp.js'

const work = Workspace.alone(1 << 22)

/** A random picture in the workspace, with a gap after each row. */
const shapes = fc.record({
  width: fc.integer({ min: 1, max: 41 }),
  height: fc.integer({ min: 1, max: 13 }),
  channels: fc.constantFrom<1 | 3>(1, 3),
  gap: fc.integer({ min: 0, max: 5 }),
  seed: fc.nat(),
})
type Shape = typeof shapes extends fc.Arbitrary<infer T> ? T : never

function picture(shape: Shape): Picture {
  work.reset()
  const pixels = new Uint8Array(shape.width * shape.height * shape.channels)
  let state = shape.seed | 1
  // Few distinct values now and then: grey pixels, equal channels and saturated colours matter for hue.
  const palette = shape.seed % 3 === 0 ? [0, 128, 255] : undefined
  for (let i = 0; i < pixels.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    pixels[i] = palette === undefined ? state >>> 24 : palette[(state >>> 24) % 3]
  }
  return put(work, shape, pixels, shape.gap)
}

/** The workspace around a picture, row gaps included: must not change. */
function gaps({ at, stride, width, height, channels }: Picture): number[] {
  const used = width * channels
  return Array.from({ length: height }, (_, y) =>
    Array.from(work.u8.subarray(at + y * stride + used, at + (y + 1) * stride)),
  ).flat()
}

function same(step: Step, twin: (p: Picture, u8: Uint8Array) => unknown, rgbOnly = false) {
  return fc.property(shapes, shape => {
    const p = picture(rgbOnly ? { ...shape, channels: 3 } : shape)
    const copy = work.u8.slice()
    const result = twin(p, copy)
    const expected = result instanceof Uint8Array ? result : bytesOf(p, { u8: copy } as Workspace)
    const before = gaps(p)
    const done = applyStep(step, p, work)
    expect(bytesOf(done, work)).toEqual(expected)
    expect(gaps(p)).toEqual(before)
  })
}

describe('color kernels', () => {
  it('grayscale', () => fc.assert(same({ do: 'grayscale' }, colorTwins.grayscale, true)))
  it.each([0, 0.37, 1, 1.8])('saturation %f', factor => {
    fc.assert(
      same({ do: 'saturation', factor }, (p, u8) => colorTwins.saturation(p, u8, factor, 1 - factor), true),
    )
  })
  it.each([-0.5, -0.21, 0, 0.1, 0.5])('hue %f', factor => {
    fc.assert(same({ do: 'hue', factor }, (p, u8) => colorTwins.hue(p, u8, factor * 6), true))
  })
  it('hue 0 changes nothing', () => {
    fc.assert(same({ do: 'hue', factor: 0 }, () => undefined, true))
  })
  it.each([
    [0, 2, 1],
    [1, 2, 0],
    [2, 2, 2],
  ])('channels %i, %i, %i', (...order) => {
    fc.assert(same({ do: 'permute', order }, (p, u8) => colorTwins.permute(p, u8, order), true))
  })
  it('one table', () => {
    const table = Uint8Array.from({ length: 256 }, (_, i) => 255 - i)
    fc.assert(same({ do: 'invert' }, (p, u8) => colorTwins.tables(p, u8, [table])))
  })
  it('a table for each channel', () => {
    fc.assert(
      fc.property(shapes, shape => {
        const p = picture({ ...shape, channels: 3 })
        const tables = [0, 1, 2].map(c => Uint8Array.from({ length: 256 }, (_, i) => i * 7 + c * 31))
        const copy = work.u8.slice()
        colorTwins.tables(p, copy, tables)
        const at = work.take(768)
        for (const [c, table] of tables.entries()) work.u8.set(table, at + c * 256)
        kernel<ColorKernel>('color', work.memory).tables(p.at, p.stride, p.width, p.height, at)
        expect(bytesOf(p, work)).toEqual(bytesOf(p, { u8: copy } as Workspace))
      }),
    )
  })
  it('histogram and sum of luminances', () => {
    fc.assert(
      fc.property(shapes, shape => {
        const p = picture(shape)
        const run = kernel<ColorKernel>('color', work.memory)
        const at = work.take(p.channels * 1024)
        run.histogram(p.at, p.stride, p.width, p.height, p.channels, at)
        const counts = new Uint32Array(work.memory.buffer, at, p.channels * 256)
        expect(Array.from(counts)).toEqual(Array.from(colorTwins.histogram(p, work.u8)))
        if (p.channels === 3)
          expect(run.luminanceSum(p.at, p.stride, p.width, p.height)).toBe(
            colorTwins.luminanceSum(p, work.u8),
          )
      }),
    )
  })
})

describe('filter kernels', () => {
  it.each([0, 0.4, 1, 2.3])('sharpness %f', factor => {
    fc.assert(same({ do: 'sharpness', factor }, (p, u8) => filterTwins.sharpness(p, u8, 1 - factor)))
  })
  it('blur', () => {
    const odd = fc.integer({ min: 0, max: 6 }).map(n => 2 * n + 1)
    fc.assert(
      fc.property(shapes, odd, odd, fc.double({ min: 0.1, max: 4, noNaN: true }), (shape, kx, ky, sigma) => {
        const p = picture(shape)
        const expected = filterTwins.blur(p, work.u8, gaussian(kx, sigma), gaussian(ky, sigma))
        const step = { do: 'blur', kernelX: kx, kernelY: ky, sigmaX: sigma, sigmaY: sigma } as const
        expect(bytesOf(applyStep(step, p, work), work)).toEqual(expected)
      }),
    )
  })
})

describe('warp kernels', () => {
  const angle = fc.double({ min: -180, max: 180, noNaN: true })
  const little = fc.double({ min: -40, max: 40, noNaN: true })
  const scale = fc.double({ min: 0.2, max: 4, noNaN: true })
  const fills = fc.constantFrom<number[]>([], [0], [200, 10, 99])
  it.each(['nearest', 'bilinear'] as const)('%s', filter => {
    fc.assert(
      fc.property(shapes, angle, little, little, scale, fills, (shape, turn, x, y, zoom, fill) => {
        const p = picture(shape)
        const matrix = inverseMatrix({
          angle: turn,
          translate: [x, y],
          scale: zoom,
          shear: [x / 4, y / 4],
          centre: [0, 0],
        })
        const { width, height } = shape
        const step = { do: 'affine' as const, matrix, width, height, filter, fill }
        const expected = twins.warp(step, p, work.u8)
        expect(bytesOf(applyStep(step, p, work), work)).toEqual(expected)
      }),
    )
  })
  // Any coefficients, also those whose horizon runs through the picture.
  const numbers = fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { minLength: 8, maxLength: 8 })
  const zeros = fc.constantFrom([1, 0, 0, 0, 1, 0, 0, -1], [0, 0, 0, 0, 0, 0, -1, 0])
  it.each(['nearest', 'bilinear'] as const)('perspective, %s', filter => {
    fc.assert(
      fc.property(shapes, fc.oneof(numbers, zeros), fills, (shape, coefficients, fill) => {
        const p = picture(shape)
        const step = { do: 'perspective' as const, coefficients, filter, fill }
        const expected = twins.perspective(step, p, work.u8)
        expect(bytesOf(applyStep(step, p, work), work)).toEqual(expected)
      }),
    )
  })
  const strength = fc.double({ min: -300, max: 300, noNaN: true })
  const sigmas = fc.constantFrom<[number, number]>([0, 0], [0.4, 1.3], [2, 2], [1.5, 0.3])
  it.each(['nearest', 'bilinear'] as const)('elastic, %s', filter => {
    const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 })
    fc.assert(
      fc.property(shapes, seeds, strength, strength, sigmas, fills, (shape, seed, x, y, sigma, fill) => {
        const p = picture(shape)
        const step = { do: 'elastic' as const, seed, alpha: [x, y] as const, sigma, filter, fill }
        const expected = twins.elastic(step, p, work.u8)
        expect(bytesOf(applyStep(step, p, work), work)).toEqual(expected)
      }),
      { numRuns: runs(50) },
    )
  })
  it('an elastic transform without strength leaves a picture as it is', () => {
    const p = picture({ width: 41, height: 13, channels: 3, gap: 2, seed: 5 })
    const step = { do: 'elastic' as const, seed: 9, alpha: [0, 0] as const, sigma: [5, 5] as const }
    const done = applyStep({ ...step, filter: 'bilinear', fill: [] }, p, work)
    expect(bytesOf(done, work)).toEqual(bytesOf(p, work))
  })
  it('unmoved, a picture stays as it is', () => {
    fc.assert(
      fc.property(shapes, fc.constantFrom('nearest' as const, 'bilinear' as const), (shape, filter) => {
        const p = picture(shape)
        const { width, height } = shape
        const matrix = [1, 0, 0, 0, 1, 0]
        const step = { do: 'affine' as const, matrix, width, height, filter, fill: [9] }
        expect(bytesOf(applyStep(step, p, work), work)).toEqual(bytesOf(p, work))
      }),
    )
  })
})
