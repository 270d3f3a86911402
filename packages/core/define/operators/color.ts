/** Operators that change the values of pixels. */

import { integer, interval, number, oneOf, withDefault } from '../../basics/shape.js'
import { operator } from './operator.js'
import {
  channels,
  hueJitter,
  jitter,
  kernel,
  orNull,
  probability,
  sigma,
  sometimes,
  warpFilter,
} from './parameters.js'

/** For operators that may turn, shift and shear pictures. A fill of null: zeros, towards which the filter blends. */
const augmenting = {
  filter: withDefault(warpFilter, 'nearest'),
  fill: withDefault(orNull(channels), null),
}
const factors = interval(number({ min: 0 }), 'factors [low, high]')

export const COLOUR = {
  colorJitter: operator({
    says: 'brightness, contrast, saturation and hue changed at random, in random order',
    stage: 'pixels',
    colors: true,
    keys: {
      brightness: withDefault(jitter, null),
      contrast: withDefault(jitter, null),
      saturation: withDefault(jitter, null),
      hue: withDefault(hueJitter, null),
    },
  }),
  grayscale: operator({
    says: 'grey, still with three channels, with probability p',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: { p: withDefault(probability, 1) },
  }),
  gaussianBlur: operator({
    says: 'blurred with a random sigma',
    stage: 'pixels',
    colors: true,
    main: 'kernel',
    keys: { kernel, sigma: withDefault(sigma, [0.1, 2]) },
  }),
  autocontrast: operator({
    says: 'each channel stretched to 0…255',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: sometimes,
  }),
  posterize: operator({
    says: 'fewer bits a channel',
    stage: 'pixels',
    colors: true,
    main: 'bits',
    keys: { bits: integer({ min: 0, max: 8 }), ...sometimes },
  }),
  solarize: operator({
    says: 'values from the threshold on inverted',
    stage: 'pixels',
    colors: true,
    main: 'threshold',
    keys: { threshold: number({ min: 0, max: 256 }), ...sometimes },
  }),
  equalize: operator({
    says: 'histogram of each channel made even',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: sometimes,
  }),
  invert: operator({ says: 'negative', stage: 'pixels', colors: true, main: 'p', keys: sometimes }),
  sharpness: operator({
    says: 'blurred (factor < 1) or sharpened (factor > 1)',
    stage: 'pixels',
    colors: true,
    main: 'factor',
    keys: { factor: number({ min: 0 }), ...sometimes },
  }),
  trivialAugment: operator({
    says: 'one random change of random strength (TrivialAugment, wide)',
    stage: 'pixels',
    moves: true,
    colors: true,
    main: 'bins',
    keys: { bins: withDefault(integer({ min: 2, max: 1024 }), 31), ...augmenting },
  }),
  randAugment: operator({
    says: 'some random changes, all of one strength (RandAugment)',
    stage: 'pixels',
    moves: true,
    colors: true,
    main: 'ops',
    keys: {
      ops: withDefault(integer({ min: 0, max: 16 }), 2),
      magnitude: withDefault(integer({ min: 0, max: 1023 }), 9),
      bins: withDefault(integer({ min: 2, max: 1024 }), 31),
      ...augmenting,
    },
    check: ({ magnitude, bins }) =>
      magnitude >= bins ? `magnitude is below bins, and ${magnitude} is not below ${bins}` : undefined,
  }),
  autoAugment: operator({
    says: 'a random pair of changes of a policy (AutoAugment)',
    stage: 'pixels',
    moves: true,
    colors: true,
    main: 'policy',
    keys: {
      policy: withDefault(oneOf(['imagenet', 'cifar10', 'svhn'], 'policy'), 'imagenet'),
      ...augmenting,
    },
  }),
  photometricDistort: operator({
    says: 'brightness, contrast, saturation, hue and order of channels changed, each with probability p',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: {
      ...sometimes,
      brightness: withDefault(factors, [0.875, 1.125]),
      contrast: withDefault(factors, [0.5, 1.5]),
      saturation: withDefault(factors, [0.5, 1.5]),
      hue: withDefault(
        interval(number({ min: -0.5, max: 0.5 }), 'turns [low, high] from -0.5 to 0.5'),
        [-0.05, 0.05],
      ),
    },
  }),
}
