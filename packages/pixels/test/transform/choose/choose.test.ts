/** Choices: the same for the same key, in the ranges asked for, and spread as they should be. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operatorKey, Random } from '../../../../core/basics/random.js'
import { normalOps } from '../../../../core/define/operator.js'
import type { NormalOp, OpJson } from '../../../../core/define/types.js'
import { chooseSteps } from '../../../operators/choose.js'
import type { Size } from '../../../operators/step.js'
import type { Step } from '../../../operators/steps.js'
import { sizeAfter } from '../../../operators/steps.js'

const keyed =
  (position: number, seed = 1) =>
  (op: NormalOp) =>
    new Random().key(seed, 0, position, operatorKey('image', op.name, op.ordinal))

function choose(ops: OpJson[], size: Size, position = 0): Step[] {
  return chooseSteps(normalOps(ops, 'apply'), size, keyed(position))
}

function pick<K extends Step['do']>(steps: Step[], kind: K): Extract<Step, { do: K }> | undefined {
  return steps.find((step): step is Extract<Step, { do: K }> => step.do === kind)
}

const everything: OpJson[] = [
  { randomResizedCrop: 64 },
  { flip: 0.5 },
  { rotate: 30 },
  { affine: { degrees: 10, translate: [0.1, 0.2], scale: [0.5, 2], shear: 5 } },
  { colorJitter: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 } },
  { gaussianBlur: 5 },
  'trivialAugment',
  { randomCrop: { size: 56, padding: 4 } },
  { randomErasing: 0.5 },
  { normalize: 'imagenet' },
]
const size = fc.record({ width: fc.integer({ min: 1, max: 300 }), height: fc.integer({ min: 1, max: 300 }) })

describe('choices', () => {
  it('depend on the key alone', () => {
    fc.assert(
      fc.property(size, fc.nat(), (of, position) => {
        expect(choose(everything, of, position)).toEqual(choose(everything, of, position))
      }),
    )
    const distinct = new Set(
      Array.from({ length: 50 }, (_, i) => JSON.stringify(choose(everything, { width: 90, height: 70 }, i))),
    )
    expect(distinct.size).toBe(50)
  })

  it('end in the size that was asked for, whatever the picture', () => {
    fc.assert(
      fc.property(size, fc.nat(), (of, position) => {
        const after = choose(everything, of, position).reduce((now, step) => sizeAfter(step, now), of)
        expect(after).toEqual({ width: 56, height: 56 })
      }),
    )
  })
})

describe('resize', () => {
  const to = (params: OpJson, of: Size) => pick(choose([{ resize: params }], of), 'resize')
  it('means the shorter side, or both', () => {
    expect(to(256 as unknown as OpJson, { width: 500, height: 375 })).toMatchObject({
      width: 341,
      height: 256,
    })
    expect(to({ size: [10, 20] }, { width: 500, height: 375 })).toMatchObject({ width: 20, height: 10 })
    const limited = to({ size: 256, maxSize: 300 }, { width: 500, height: 375 })
    expect(limited).toMatchObject({ width: 300, height: 225 })
  })
  it('is nothing when nothing changes', () => {
    expect(choose([{ resize: 375 }], { width: 500, height: 375 })).toEqual([])
  })
})

describe('randomResizedCrop', () => {
  const N = 4000
  const of = { width: 200, height: 150 }
  const crops = Array.from({ length: N }, (_, i) => {
    const steps = choose([{ randomResizedCrop: { size: 33, scale: [0.1, 0.6] } }], of, i)
    return pick(steps, 'crop')!
  })

  it('stays inside, with area and aspect in range', () => {
    for (const { x, y, width, height } of crops) {
      expect(x >= 0 && y >= 0 && x + width <= of.width && y + height <= of.height).toBe(true)
      const share = (width * height) / (of.width * of.height)
      expect(share).toBeGreaterThan(0.095)
      expect(share).toBeLessThan(0.61)
      expect(width / height).toBeGreaterThan(0.73)
      expect(width / height).toBeLessThan(1.37)
    }
  })

  it('has a uniform area and a uniform log aspect', () => {
    const areas = crops.map(c => (c.width * c.height) / (of.width * of.height))
    const logs = crops.map(c => Math.log(c.width / c.height))
    const mean = (list: number[]) => list.reduce((a, b) => a + b) / list.length
    // Uniform on 0.1…0.6: mean 0.35, deviation 0.144; five standard errors.
    expect(Math.abs(mean(areas) - 0.35)).toBeLessThan((5 * 0.1443) / Math.sqrt(N))
    expect(Math.abs(mean(logs))).toBeLessThan((5 * 0.166) / Math.sqrt(N))
    const quarters = [0, 0, 0, 0]
    for (const area of areas) quarters[Math.min(3, Math.max(0, Math.floor((area - 0.1) / 0.125)))]++
    for (const count of quarters) expect(Math.abs(count - N / 4)).toBeLessThan(5 * Math.sqrt(N / 4))
  })

  it('takes a pixel at least, however small the picture is', () => {
    for (const ratio of [
      [3, 4],
      [0.1, 0.2],
    ] as const)
      for (const of of [
        { width: 1, height: 1 },
        { width: 1, height: 2 },
        { width: 2, height: 1 },
      ]) {
        const crop = pick(choose([{ randomResizedCrop: { size: 8, ratio: [...ratio] } }], of), 'crop') ?? {
          x: 0,
          y: 0,
          ...of,
        }
        expect(Math.min(crop.width, crop.height)).toBeGreaterThanOrEqual(1)
        expect([crop.x + crop.width <= of.width, crop.y + crop.height <= of.height]).toEqual([true, true])
      }
  })

  it('falls back to the centre of a picture that is too long', () => {
    const steps = choose([{ randomResizedCrop: { size: 8, scale: [1, 1] } }], { width: 1000, height: 10 })
    expect(steps[0]).toEqual({ do: 'crop', x: 493, y: 0, width: 13, height: 10 })
  })
})

describe('crops', () => {
  it('centerCrop reaches outside of a small picture, the smaller half first', () => {
    expect(choose([{ centerCrop: 8 }], { width: 5, height: 20 })).toEqual([
      { do: 'crop', x: -1, y: 6, width: 8, height: 8 },
    ])
  })
  it('randomCrop takes every place equally often', () => {
    const counts = new Map<number, number>()
    for (let i = 0; i < 2000; i++) {
      const { x } = pick(choose([{ randomCrop: 4 }], { width: 7, height: 9 }, i), 'crop')!
      counts.set(x, (counts.get(x) ?? 0) + 1)
    }
    expect([...counts.keys()].sort()).toEqual([0, 1, 2, 3])
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(5 * Math.sqrt(500))
  })
  it('randomCrop of too small a picture names the way out', () => {
    expect(() => choose([{ randomCrop: 32 }], { width: 20, height: 40 })).toThrow(/padIfNeeded/)
  })
  it('randomCrop pads when the padding is not black', () => {
    const op = { randomCrop: { size: 10, padding: 2, fill: 9, padIfNeeded: true } }
    const [first, second] = choose([op], { width: 4, height: 20 }, 3)
    expect(first).toMatchObject({ do: 'pad', left: 4, right: 4, top: 2, bottom: 2, fill: [9, 9, 9] })
    expect(second).toMatchObject({ do: 'crop', width: 10, height: 10 })
  })
})

describe('chances', () => {
  it.each(['flip', 'grayscale', 'autocontrast', 'equalize', 'invert'])('%s happens with p', name => {
    let times = 0
    for (let i = 0; i < 2000; i++) times += choose([{ [name]: 0.3 }], { width: 9, height: 9 }, i).length
    expect(Math.abs(times - 600)).toBeLessThan(5 * Math.sqrt(2000 * 0.3 * 0.7))
  })
  it('p of 0 and 1 are never and always', () => {
    for (let i = 0; i < 50; i++) {
      expect(choose([{ flip: 0 }], { width: 9, height: 9 }, i)).toEqual([])
      expect(choose([{ flip: 1 }], { width: 9, height: 9 }, i)).toHaveLength(1)
    }
  })
})

describe('colorJitter', () => {
  it('takes each of the 24 orders equally often, with factors in range', () => {
    const op = { colorJitter: { brightness: 0.4, contrast: [0.5, 0.7], saturation: 2, hue: 0.1 } }
    const counts = new Map<string, number>()
    const N = 4800
    for (let i = 0; i < N; i++) {
      const steps = choose([op], { width: 9, height: 9 }, i) as { do: string; factor: number }[]
      const order = steps.map(step => step.do).join()
      counts.set(order, (counts.get(order) ?? 0) + 1)
      const factor = Object.fromEntries(steps.map(step => [step.do, step.factor]))
      expect(factor.brightness >= 0.6 && factor.brightness < 1.4).toBe(true)
      expect(factor.contrast >= 0.5 && factor.contrast < 0.7).toBe(true)
      expect(factor.saturation >= 0 && factor.saturation < 3).toBe(true)
      expect(factor.hue >= -0.1 && factor.hue < 0.1).toBe(true)
    }
    expect(counts.size).toBe(24)
    const chi = [...counts.values()].reduce((sum, n) => sum + (n - N / 24) ** 2 / (N / 24), 0)
    expect(chi).toBeLessThan(60) // 23 degrees of freedom: exceeded once in 40,000
  })
  it('leaves out what is not asked for', () => {
    expect(choose([{ colorJitter: { contrast: 0.5 } }], { width: 9, height: 9 })).toHaveLength(1)
  })
})

describe('trivialAugment', () => {
  it('takes each of its fourteen changes equally often', () => {
    const counts = new Map<string, number>()
    const N = 5600
    for (let i = 0; i < N; i++) {
      const [step] = choose(['trivialAugment'], { width: 50, height: 40 }, i)
      const name = step?.do ?? 'nothing'
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    // Shears, shifts and rotations are one kind of step; a rotation by 0 is nothing.
    const share = 5 * Math.sqrt(N / 14)
    for (const name of ['brightness', 'saturation', 'contrast', 'sharpness', 'posterize', 'solarize'])
      expect(Math.abs(counts.get(name)! - N / 14)).toBeLessThan(share)
    expect(Math.abs(counts.get('affine')! - (5 * N) / 14)).toBeLessThan(2.5 * share)
    expect(counts.size).toBe(10)
  })
})

describe('randomErasing', () => {
  it('lies inside, with area and aspect in range', () => {
    for (let i = 0; i < 500; i++) {
      const steps = choose([{ randomErasing: { p: 1, value: 'random' } }], { width: 100, height: 80 }, i)
      const step = pick(steps, 'erase')
      if (step === undefined) continue
      const { x, y, width, height } = step
      expect(x >= 0 && y >= 0 && x + width <= 100 && y + height <= 80).toBe(true)
      const share = (width * height) / 8000
      expect(share > 0.015 && share < 0.345).toBe(true)
    }
  })
})
