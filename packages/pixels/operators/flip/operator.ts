import { oneOf, withDefault } from '../../../core/basics/shape.js'
import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { type Motion, step } from '../step.js'

export interface FlipStep {
  do: 'flip'
  axis: 'horizontal' | 'vertical'
}

export const flip = operator({
  says: 'mirrored, with probability p',
  about: 'mirrored; axis horizontal or vertical',
  example: { flip: { axis: 'vertical', p: 0.8 } },
  stage: 'pixels',
  moves: true,
  main: 'p',
  keys: { ...sometimes, axis: withDefault(oneOf(['horizontal', 'vertical'], 'axis'), 'horizontal') },
  elsewhere: {
    horizontalflip: '',
    hflip: '',
    randomverticalflip: ', with axis "vertical"',
    verticalflip: ', with axis "vertical"',
    vflip: ', with axis "vertical"',
  },
  torchvision: { RandomHorizontalFlip: undefined, RandomVerticalFlip: undefined },
  steps: [
    step<FlipStep>({
      do: 'flip',
      motion({ axis }, { width, height }, thing): Motion {
        // The coordinate that mirrors 0.
        const far = (axis === 'horizontal' ? width : height) - (thing === 'box' ? 0 : 1)
        return axis === 'horizontal' ? (x, y) => [far - x, y] : (x, y) => [x, far - y]
      },
    }),
  ],
  choose: withChance(({ axis }): FlipStep => ({ do: 'flip', axis })),
})
