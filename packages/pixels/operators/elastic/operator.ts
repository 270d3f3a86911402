import { number, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { twice, warping } from '../parameters.js'
import { type ElasticStep, elasticSteps } from './step.js'

export const elastic = operator({
  says: 'pixels displaced by smooth noise, as if seen through water',
  about: 'pixels displaced by noise of strength alpha and smoothness sigma',
  example: { elastic: { alpha: [40, 90], sigma: [0.5, 1.5] } },
  stage: 'pixels',
  moves: true,
  main: 'alpha',
  defaults: { alpha: ' 50', sigma: ' 5 (at most 31.8)' },
  keys: {
    alpha: withDefault(twice(number()), [50, 50]),
    sigma: withDefault(twice(number({ min: 0, max: 31.8 })), [5, 5]),
    ...warping,
  },
  python: { alpha: 'Union[float, Sequence[float]]', sigma: 'Union[float, Sequence[float]]' },
  torchvision: { ElasticTransform: undefined },
  steps: [elasticSteps],
  check: ({ sigma: [x, y] }) =>
    (x === 0) === (y === 0) ? undefined : 'both sigmas are 0, for noise without blur, or neither is',
  choose: ({ alpha, sigma, filter, fill }, _, random): ElasticStep[] => [
    { do: 'elastic', seed: random.bits(), alpha, sigma, filter, fill },
  ],
})
