import { either, isNumber, withDefault } from '../../../core/basics/shape.js'
import type { Sides } from '../../../core/define/operator.js'
import { operator } from '../operator.js'
import { orNull, pair, pixels, resampling } from '../parameters.js'
import { type Filter, type Size, step } from '../step.js'

export interface ResizeStep {
  do: 'resize'
  width: number
  height: number
  filter: Filter
  antialias: boolean
}

const sideOrBoth = either(isNumber, pixels, pair)

export const resize = operator({
  says: 'the shorter side to a size, or both to [height, width]',
  example: { resize: { size: [30, 40], filter: 'bicubic' } },
  stage: 'pixels',
  moves: true,
  main: 'size',
  keys: {
    size: sideOrBoth,
    ...resampling,
    maxSize: withDefault(orNull(pixels), null),
  },
  torchvision: { Resize: undefined },
  steps: [
    step<ResizeStep>({
      do: 'resize',
      size: ({ width, height }) => ({ width, height }),
      motion({ width, height }, size) {
        const [byX, byY] = [width / size.width, height / size.height]
        return (x, y) => [x * byX, y * byY]
      },
    }),
  ],
  check: ({ size, maxSize }) =>
    typeof size !== 'number' && maxSize !== null
      ? 'maxSize goes with the size of the shorter side only'
      : undefined,
  output: (before, { size, maxSize }) =>
    typeof size !== 'number' ? size : before && resizedTo(before, size, maxSize),
  choose(params, size) {
    const [height, width] =
      typeof params.size === 'number'
        ? resizedTo([size.height, size.width], params.size, params.maxSize)
        : params.size
    return resizeTo({ width: Math.max(1, width), height: Math.max(1, height) }, size, params)
  },
})

/** The size after a resize of the shorter side to `size`, the longer at most `maxSize`: torchvision's rounding. */
export function resizedTo([height, width]: Sides, size: number, maxSize: number | null): Sides {
  const [short, long] = height <= width ? [height, width] : [width, height]
  let newShort = size
  let newLong = Math.trunc((size * long) / short)
  if (maxSize !== null && newLong > maxSize) {
    newShort = Math.trunc((maxSize * newShort) / newLong)
    newLong = maxSize
  }
  return height <= width ? [newShort, newLong] : [newLong, newShort]
}

/** A resize is no step when nothing changes. */
export function resizeTo(to: Size, from: Size, how: { filter: Filter; antialias: boolean }): ResizeStep[] {
  if (to.width === from.width && to.height === from.height) return []
  return [{ do: 'resize', ...to, filter: how.filter, antialias: how.antialias }]
}
