import { interval, text, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { probability } from '../parameters.js'
import { putTogether } from './batch.js'

export const mosaic = operator({
  says: 'four images meet in a point, with all that follows them',
  about: 'four images meet in a point, with the boxes, points and masks that follow them',
  example: 'mosaic',
  stage: 'batch',
  batch: putTogether,
  keys: {
    center: withDefault(interval(probability, 'shares of the sides [low, high]'), [0.25, 0.75]),
    p: withDefault(probability, 1),
    field: withDefault(text, ''),
  },
})
