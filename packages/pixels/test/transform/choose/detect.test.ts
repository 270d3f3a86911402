/** Operators of detection: iouCrop, zoomOut and scaleJitter choose as torchvision's do, and boxes follow. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { operatorKey, Random } from '../../../../core/basics/random.js'
import { normalizeFeed } from '../../../../core/define/normalize.js'
import { normalOps } from '../../../../core/define/operator.js'
import type { OpJson } from '../../../../core/define/types.js'
import type { Rows } from '../../../decode/array/rows.js'
import { chooseSteps } from '../../../operators/choose.js'
import type { CropStep } from '../../../operators/crop/step.js'
import type { Step } from '../../../operators/steps.js'
import { followBoxes } from '../../../transform/plain/follow.js'

interface Chosen {
  count: number
  none: number
  mean: number[]
  deviation: number[]
}

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../../test/golden/transforms/${name}`, import.meta.url), 'utf8'))
const golden: Record<string, Chosen> = read('detect.json')
const lists: number[][] = read('follow.json').boxes
const size = { width: 48, height: 40 }

function choices(apply: OpJson[], count: number, of = lists): Step[][] {
  const ops = normalOps(apply, 'apply')
  return Array.from({ length: count }, (_, position) => {
    const random = ({ name, ordinal }: { name: string; ordinal: number }) =>
      new Random().key(1, 0, position, operatorKey('image', name, ordinal))
    return chooseSteps(ops, size, random, { other: (_, use) => use(JSON.stringify(of)) })
  })
}

/** Means and deviations are torchvision's, up to five standard errors of both samples. */
function expectAlike(name: string, rows: number[][], count: number): void {
  const { mean, deviation, ...theirs } = golden[name]
  const share = theirs.none / theirs.count
  const error = (n: number) => 5 * Math.sqrt(1 / n + 1 / (theirs.count - theirs.none))
  if (share > 0) expect(Math.abs((count - rows.length) / count - share)).toBeLessThan(0.5 * error(count))
  for (const [i, expected] of mean.entries()) {
    const values = rows.map(row => row[i])
    const ours = values.reduce((a, b) => a + b) / values.length
    const spread = Math.sqrt(values.reduce((sum, v) => sum + (v - ours) ** 2, 0) / values.length)
    expect(Math.abs(ours - expected), `mean ${i}`).toBeLessThan(deviation[i] * error(rows.length))
    expect(Math.abs(spread / deviation[i] - 1), `deviation ${i}`).toBeLessThan(error(rows.length))
  }
}

describe('choices are spread as those of torchvision', () => {
  const N = 4000
  it('iouCrop', () => {
    const crops = choices([{ iouCrop: {} }], N).flat() as CropStep[]
    const rows = crops.map(({ x, y, width, height, centred }) => {
      expect(centred).toBe(true)
      const kept = lists.filter(([x1, y1, x2, y2]) => {
        const [middleX, middleY] = [(x1 + x2) / 2, (y1 + y2) / 2]
        return middleX > x && middleX < x + width && middleY > y && middleY < y + height
      })
      return [x, y, width, height, kept.length]
    })
    expect(Math.min(...rows.map(row => row[4]))).toBe(1)
    expectAlike('iouCrop', rows, N)
  })
  it('zoomOut', () => {
    const pads = choices([{ zoomOut: { p: 1 } }], N).flat() as Extract<Step, { do: 'pad' }>[]
    expectAlike(
      'zoomOut',
      pads.map(({ left, top, right, bottom }) => [left, top, right, bottom]),
      pads.length,
    )
    const times = choices([{ zoomOut: { p: 0.3 } }], N).flat().length
    expect(Math.abs(times - 0.3 * N)).toBeLessThan(5 * Math.sqrt(N * 0.21))
  })
  it('scaleJitter', () => {
    // torchvision's target size is (width, height).
    const op = { scaleJitter: { size: [100, 60] as [number, number], scale: [0.5, 2] as [number, number] } }
    const sizes = choices([op], N).map(([step]) =>
      step?.do === 'resize' ? [step.height, step.width] : [40, 48],
    )
    expectAlike('scaleJitter', sizes, N)
  })
})

describe('iouCrop', () => {
  it('looks at boxes where the steps before have moved them', () => {
    const small: Rows = { count: 1, columns: 4, values: Float64Array.of(0, 0, 8, 8) }
    const apply = [{ flip: { p: 1 } }, { iouCrop: { overlaps: [0] } }]
    for (const steps of choices(apply, 200, [[0, 0, 8, 8]])) {
      const [, crop] = steps as [Step, CropStep]
      expect(crop.x + crop.width).toBeGreaterThan(44)
      expect(followBoxes(small, { ...size, steps }, 0).count).toBe(1)
    }
  })
  it('leaves a picture without boxes as it is, and ends where no crop will do', () => {
    expect(choices([{ iouCrop: {} }], 30, []).flat()).toEqual([])
    expect(choices([{ iouCrop: { overlaps: [0.99], trials: 3 } }], 5).flat()).toEqual([])
  })
  it('overlaps a box by what was asked for', () => {
    for (const [step] of choices([{ iouCrop: { overlaps: [0.7] } }], 100)) {
      const { x, y, width, height } = step as CropStep
      const best = Math.max(
        ...lists.map(([x1, y1, x2, y2]) => {
          const across = Math.max(0, Math.min(x2, x + width) - Math.max(x1, x))
          const common = across * Math.max(0, Math.min(y2, y + height) - Math.max(y1, y))
          return common / ((x2 - x1) * (y2 - y1) + width * height - common)
        }),
      )
      expect(best).toBeGreaterThanOrEqual(0.7)
    }
  })
})

describe('definitions', () => {
  const feed = (apply: OpJson[], more: object = {}) =>
    normalizeFeed(
      {
        source: { folder: '/nowhere' },
        fields: { image: { from: 'jpg', as: 'image', apply, shape: [64, 64] }, ...more },
        batch: 4,
      },
      '/',
    )
  const box = { from: 'json', as: 'boxes', follow: 'image', shape: [9, 5] }
  it('name the boxes that iouCrop looks at', () => {
    expect(feed(['iouCrop'], { boxes: box }).fields[0].apply[0].params.boxes).toBe('boxes')
    expect(feed([{ iouCrop: { boxes: 'b' } }], { a: box, b: box }).fields[0].apply[0].params.boxes).toBe('b')
  })
  it('say what is missing', () => {
    expect(() => feed(['iouCrop'])).toThrow(/boxes that follows "image"/)
    expect(() => feed(['iouCrop'], { boxes: { ...box, follow: undefined } })).toThrow(/boxes that follows/)
    expect(() => feed(['iouCrop'], { a: box, b: box })).toThrow(/one of a, b/)
    expect(() => feed([{ iouCrop: { boxes: 'bosex' } }], { boxes: box })).toThrow(/boxes/)
    expect(() => feed(['iouCrop', 'iouCrop'], { boxes: box })).toThrow(/once/)
    expect(() => feed([{ zoomOut: [0.5, 2] }])).toThrow(/from 1 on|≥ 1/)
  })
  it('need a size, where these operators leave it open', () => {
    const open = (op: OpJson) => () =>
      normalizeFeed(
        {
          source: { folder: '/nowhere' },
          fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [9, 9] }, op] }, boxes: box },
          batch: 4,
        },
        '/',
      )
    for (const op of ['zoomOut', 'iouCrop', { scaleJitter: 9 }] as OpJson[])
      expect(open(op)).toThrow(/size is not known before the images are read/)
  })
})
