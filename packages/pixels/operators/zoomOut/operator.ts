import { interval, number, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import type { PadStep } from '../pad/step.js'
import { filling, sometimes } from '../parameters.js'

export const zoomOut = operator({
  says: 'a border that makes it up to so many times as large, with probability p',
  about: 'a border that makes it so many times as large',
  example: { zoomOut: { sides: [1, 2], fill: 7 } },
  stage: 'pixels',
  moves: true,
  main: 'sides',
  keys: {
    sides: withDefault(interval(number({ min: 1 }), 'factors [low, high] from 1 on'), [1, 4]),
    ...sometimes,
    fill: filling.fill,
  },
  torchvision: { RandomZoomOut: undefined },
  output: () => undefined,
  /** The picture lies at a random place within the border. */
  choose({ sides, p, fill }, { width, height }, random): PadStep[] {
    if (random.next() >= p) return []
    const by = random.uniform(sides[0], sides[1])
    const lackX = Math.trunc(width * by) - width
    const lackY = Math.trunc(height * by) - height
    const left = Math.trunc(lackX * random.next())
    const top = Math.trunc(lackY * random.next())
    if (lackX === 0 && lackY === 0) return []
    return [{ do: 'pad', left, top, right: lackX - left, bottom: lackY - top, mode: 'constant', fill }]
  },
})
