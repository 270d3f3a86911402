import { number } from '../../../core/basics/shape.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel } from '../../transform/kernels/load.js'
import { copyRows } from '../copy.js'
import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { step } from '../step.js'

type SharpnessStep = {
  do: 'sharpness'
  factor: number
}

interface SharpnessKernel {
  sharpness(
    from: number,
    fromStride: number,
    to: number,
    toStride: number,
    width: number,
    height: number,
    channels: number,
    rest: number,
  ): void
}

export const sharpness = operator({
  says: 'blurred (factor < 1) or sharpened (factor > 1)',
  example: { sharpness: { factor: 2, p: 1 } },
  stage: 'pixels',
  colors: true,
  main: 'factor',
  keys: { factor: number({ min: 0 }), ...sometimes },
  elsewhere: { adjustsharpness: '' },
  torchvision: { RandomAdjustSharpness: { parameters: { factor: 'sharpness_factor', p: 'p' } } },
  steps: [
    step<SharpnessStep>({
      do: 'sharpness',
      code: 9,
      args: ({ factor }) => [{ f32: 1 - factor }],
      run: ({ factor }, picture, work) => sharpened(factor, picture, work),
    }),
  ],
  choose: withChance(({ factor }): SharpnessStep => ({ do: 'sharpness', factor })),
})

/** Blends each pixel with the mean around it: factor 0 is blurred, 1 unchanged, 2 sharpened. The rim stays. */
function sharpened(factor: number, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  if (width <= 2 || height <= 2) return picture
  const rowBytes = width * channels
  const to = work.take(rowBytes * height)
  copyRows(work.memory, picture, { at: to, stride: rowBytes }, rowBytes, height)
  const { sharpness } = kernel<SharpnessKernel>('filter', work.memory)
  sharpness(at, stride, to, rowBytes, width, height, channels, 1 - factor)
  return { at: to, width, height, channels, stride: rowBytes }
}
