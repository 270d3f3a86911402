import { operator } from '../operator.js'
import { filling, padding } from '../parameters.js'
import { type PadStep, padSteps } from './step.js'

export const pad = operator({
  says: 'a border',
  about: 'a border; modes constant, edge, reflect, symmetric',
  example: { pad: { padding: [1, 2, 3, 4], mode: 'reflect' } },
  stage: 'pixels',
  moves: true,
  main: 'padding',
  keys: { padding, ...filling },
  torchvision: { Pad: undefined },
  steps: [padSteps],
  output: (before, { padding: [left, top, right, bottom] }) =>
    before && [before[0] + top + bottom, before[1] + left + right],
  choose: ({ padding: [left, top, right, bottom], mode, fill }): PadStep[] =>
    left + top + right + bottom === 0 ? [] : [{ do: 'pad', left, top, right, bottom, mode, fill }],
})
