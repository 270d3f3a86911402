import { interval, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { positive, resampling, square } from '../parameters.js'
import { resizeTo } from '../resize/operator.js'

export const scaleJitter = operator({
  says: 'resized to a random share of what fits into a size',
  about: 'resized to a random share of what fits into `size`',
  example: { scaleJitter: { size: [30, 40], scale: [0.2, 1.5] } },
  stage: 'pixels',
  moves: true,
  main: 'size',
  keys: {
    size: square,
    scale: withDefault(interval(positive, 'factors [low, high]'), [0.1, 2]),
    ...resampling,
  },
  torchvision: { ScaleJitter: undefined },
  output: () => undefined,
  /** The size that just fits into `size`, times a random factor; at least a pixel. */
  choose(params, size, random) {
    const [height, width] = params.size
    const fitting = Math.min(height / size.height, width / size.width)
    const by = fitting * random.uniform(params.scale[0], params.scale[1])
    const to = {
      width: Math.max(1, Math.trunc(size.width * by)),
      height: Math.max(1, Math.trunc(size.height * by)),
    }
    return resizeTo(to, size, params)
  },
})
