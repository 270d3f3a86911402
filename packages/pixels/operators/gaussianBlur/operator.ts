import { withDefault } from '../../../core/basics/shape.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel as load } from '../../transform/kernels/load.js'
import { operator } from '../operator.js'
import { kernel, sigma } from '../parameters.js'
import { step } from '../step.js'
import { blurArguments, gaussian } from './blur.js'

type BlurStep = {
  do: 'blur'
  kernelX: number
  kernelY: number
  sigmaX: number
  sigmaY: number
}

interface BlurKernel {
  blur(
    from: number,
    stride: number,
    width: number,
    height: number,
    channels: number,
    to: number,
    weightsX: number,
    radiusX: number,
    weightsY: number,
    radiusY: number,
    rows: number,
    line: number,
  ): void
}

export const gaussianBlur = operator({
  says: 'blurred with a random sigma',
  example: { gaussianBlur: { kernel: [5, 3], sigma: [0.2, 5] } },
  stage: 'pixels',
  colors: true,
  main: 'kernel',
  defaults: { kernel: ' (odd)' },
  keys: { kernel, sigma: withDefault(sigma, [0.1, 2]) },
  torchvision: { GaussianBlur: undefined },
  steps: [
    step<BlurStep>({
      do: 'blur',
      code: 16,
      run: blurred,
      args: ({ kernelX, kernelY, sigmaX, sigmaY }) => [kernelX, kernelY, { f64: sigmaX }, { f64: sigmaY }],
    }),
  ],
  choose({ kernel, sigma: [low, high] }, _, random): BlurStep[] {
    const sigma = random.uniform(low, high)
    return [{ do: 'blur', kernelX: kernel[0], kernelY: kernel[1], sigmaX: sigma, sigmaY: sigma }]
  },
})

function blurred({ kernelX, kernelY, sigmaX, sigmaY }: BlurStep, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  const rowBytes = width * channels
  const to = work.take(rowBytes * height + 16)
  const mark = work.mark()
  const weights = { x: gaussian(kernelX, sigmaX), y: gaussian(kernelY, sigmaY) }
  load<BlurKernel>('filter', work.memory).blur(
    ...([at, stride, width, height, channels, to] as const),
    ...blurArguments(weights, width, channels, work),
  )
  work.release(mark)
  return { at: to, width, height, channels, stride: rowBytes }
}
