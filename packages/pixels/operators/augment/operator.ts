/** Random changes of random strength: TrivialAugment, RandAugment and AutoAugment. They bring no steps of their own. */
import { integer, oneOf, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { channels, orNull, warpFilter } from '../parameters.js'
import { type Change, changeAt, SPACES } from './changes.js'
import { BINS, POLICIES } from './policies.js'

/** A fill of null: zeros, towards which the filter blends. */
const augmenting = {
  filter: withDefault(warpFilter, 'nearest'),
  fill: withDefault(orNull(channels), null),
}
const { wide, narrow, policy } = SPACES
const WIDE_NAMES = Object.keys(wide) as Change[]
const NARROW_NAMES = Object.keys(narrow) as Change[]

export const trivialAugment = operator({
  says: 'one random change of random strength (TrivialAugment, wide)',
  about: 'one random change of random strength (wide); moves and colours',
  example: 'trivialAugment',
  stage: 'pixels',
  moves: true,
  colors: true,
  main: 'bins',
  keys: { bins: withDefault(integer({ min: 2, max: 1024 }), 31), ...augmenting },
  torchvision: { TrivialAugmentWide: undefined },
  most: 2,
  choose({ bins, filter, fill }, size, random) {
    const change = WIDE_NAMES[random.int(WIDE_NAMES.length)]
    return changeAt(wide, change, random.int(bins), bins, { size, filter, fill }, () => random.next())
  },
})

export const randAugment = operator({
  says: 'some random changes, all of one strength (RandAugment)',
  about: 'some random changes of one strength; moves and colours',
  example: { randAugment: { ops: 3, fill: 9 } },
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
  torchvision: { RandAugment: undefined },
  most: ({ ops }) => ops,
  check: ({ magnitude, bins }) =>
    magnitude >= bins ? `magnitude is below bins, and ${magnitude} is not below ${bins}` : undefined,
  choose: ({ ops, magnitude, bins, filter, fill }, size, random) =>
    Array.from({ length: ops }, () => {
      const change = NARROW_NAMES[random.int(NARROW_NAMES.length)]
      return changeAt(narrow, change, magnitude, bins, { size, filter, fill }, () => random.next())
    }).flat(),
})

export const autoAugment = operator({
  says: 'a random pair of changes of a policy (AutoAugment)',
  about: 'a random pair of changes of a policy: imagenet, cifar10, svhn; moves and colours',
  example: { autoAugment: 'svhn' },
  stage: 'pixels',
  moves: true,
  colors: true,
  main: 'policy',
  keys: {
    policy: withDefault(oneOf(['imagenet', 'cifar10', 'svhn'], 'policy'), 'imagenet'),
    ...augmenting,
  },
  torchvision: { AutoAugment: undefined },
  most: 2,
  choose({ policy: name, filter, fill }, size, random) {
    const pairs = POLICIES[name]
    const pair = pairs[random.int(pairs.length)]
    return pair.flatMap(([change, p, bin]) => {
      if (random.next() >= p) return []
      return changeAt(policy, change, bin, BINS, { size, filter, fill }, () => random.next())
    })
  },
})
