/** A crop that keeps boxes. */
import { integer, interval, list, number, text, withDefault } from '../../../core/basics/shape.js'
import type { Rows } from '../../decode/array/rows.js'
import type { CropStep } from '../crop/step.js'
import { operator } from '../operator.js'
import { positive } from '../parameters.js'
import type { Size } from '../step.js'

/** After as many overlaps drawn in vain the picture stays; torchvision would go on for ever. */
const ROUNDS = 50

/** Of a side. */
const share = number({ above: 0, max: 1 })

export const iouCrop = operator({
  says: 'a piece that overlaps a box; boxes whose middle lies outside are dropped',
  about:
    'a piece that overlaps a box (IoU) by at least one of `overlaps`, chosen at random; 1 is the whole picture',
  example: { iouCrop: { scale: [0.5, 1], trials: 10 } },
  stage: 'pixels',
  moves: true,
  main: 'scale',
  keys: {
    scale: withDefault(interval(share, 'shares of the sides [low, high] up to 1'), [0.3, 1]),
    ratio: withDefault(interval(positive, 'width by height, [low, high]'), [0.5, 2]),
    overlaps: withDefault(
      list(number({ min: 0 }), 'least overlaps (IoU), 1 for the whole picture', { min: 1, max: 64 }),
      [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1],
    ),
    trials: withDefault(integer({ min: 1, max: 1000 }), 40),
    boxes: withDefault(text, ''),
  },
  torchvision: { RandomIoUCrop: undefined },
  output: () => undefined,
  /** A part of the picture that has the middle of a box in it, and overlaps one of those by a random amount at least. */
  choose(params, size, random, scene): CropStep[] {
    const { scale, ratio, overlaps, trials } = params
    const { recalled } = scene
    if (recalled !== undefined) return recalled === null ? [] : [recalled]
    const boxes = scene.boxes(params.boxes)
    for (let round = 0; round < ROUNDS; round++) {
      const overlap = overlaps[random.int(overlaps.length)]
      if (overlap >= 1) return []
      for (let trial = 0; trial < trials; trial++) {
        const width = Math.trunc(size.width * random.uniform(scale[0], scale[1]))
        const height = Math.trunc(size.height * random.uniform(scale[0], scale[1]))
        const aspect = width / height
        if (!(aspect >= ratio[0] && aspect <= ratio[1])) continue
        const x = Math.trunc((size.width - width) * random.next())
        const y = Math.trunc((size.height - height) * random.next())
        if (width === 0 || height === 0) continue
        if (fits(boxes, { x, y, width, height }, overlap))
          return [{ do: 'crop', x, y, width, height, centred: true }]
      }
    }
    return []
  },
})

interface Part extends Size {
  x: number
  y: number
}

function fits({ count, columns, values }: Rows, part: Part, overlap: number): boolean {
  for (let i = 0; i < count; i++) {
    const box = values.subarray(i * columns, i * columns + 4)
    if (hasMiddle(box, part) && overlapOf(box, part) >= overlap) return true
  }
  return false
}

/** Whether a box has its middle inside a part of the picture. */
export function hasMiddle([x1, y1, x2, y2]: Float64Array, { x, y, width, height }: Part): boolean {
  const [middleX, middleY] = [(x1 + x2) / 2, (y1 + y2) / 2]
  return middleX > x && middleX < x + width && middleY > y && middleY < y + height
}

/** What both have in common, by what either has (IoU). */
function overlapOf([x1, y1, x2, y2]: Float64Array, { x, y, width, height }: Part): number {
  const across = Math.min(x2, x + width) - Math.max(x1, x)
  const down = Math.min(y2, y + height) - Math.max(y1, y)
  const common = Math.max(0, across) * Math.max(0, down)
  return common / ((x2 - x1) * (y2 - y1) + width * height - common)
}
