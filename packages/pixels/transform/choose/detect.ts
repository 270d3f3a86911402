/** Operators of detection: a crop that keeps boxes, a wide border, and a jittered scale. */
import type { Rows } from '../../decode/array/rows.js'
import { type Chooser, resizeTo, type Size } from './chooser.js'

/** After as many overlaps drawn in vain the picture stays; torchvision would go on for ever. */
const ROUNDS = 50

/** A border that makes the picture up to `sides` times as large, at a random place of it. */
export const zoomOut: Chooser<'zoomOut'> = ({ sides, p, fill }, { width, height }, random) => {
  if (random.next() >= p) return []
  const by = random.uniform(sides[0], sides[1])
  const lackX = Math.trunc(width * by) - width
  const lackY = Math.trunc(height * by) - height
  const left = Math.trunc(lackX * random.next())
  const top = Math.trunc(lackY * random.next())
  if (lackX === 0 && lackY === 0) return []
  return [{ do: 'pad', left, top, right: lackX - left, bottom: lackY - top, mode: 'constant', fill }]
}

/** The size that just fits into `size`, times a random factor; at least a pixel. */
export const scaleJitter: Chooser<'scaleJitter'> = (params, size, random) => {
  const [height, width] = params.size
  const fitting = Math.min(height / size.height, width / size.width)
  const by = fitting * random.uniform(params.scale[0], params.scale[1])
  const to = {
    width: Math.max(1, Math.trunc(size.width * by)),
    height: Math.max(1, Math.trunc(size.height * by)),
  }
  return resizeTo(to, size, params)
}

interface Part extends Size {
  x: number
  y: number
}

/** A part of the picture that has the middle of a box in it, and overlaps one of those by a random amount at least. */
export const iouCrop: Chooser<'iouCrop'> = (params, size, random, scene) => {
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
