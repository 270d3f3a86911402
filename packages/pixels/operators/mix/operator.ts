/** Images and labels of a batch mixed with each other: `mixup` and `cutmix`. */
import { integer, text, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { positive, probability } from '../parameters.js'
import { mixing } from './batch.js'

const keys = {
  alpha: withDefault(positive, 1),
  classes: integer({ min: 1, max: 2 ** 24 }),
  p: withDefault(probability, 1),
  /** The image that is mixed, and its label; by default the only ones there are. */
  field: withDefault(text, ''),
  label: withDefault(text, ''),
}

export const mixup = operator({
  says: 'images and labels blended in pairs',
  about: 'images and labels blended in pairs; the image must be of a float type',
  example: { mixup: { classes: 10 } },
  stage: 'batch',
  batch: mixing,
  keys,
})

export const cutmix = operator({
  says: 'a rectangle of each image from another, labels in proportion',
  example: { cutmix: { classes: 10 } },
  stage: 'batch',
  batch: mixing,
  keys,
})
