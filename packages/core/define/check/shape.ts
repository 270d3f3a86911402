/** The shape of a definition: which keys stand where, and what may be written for them. */

import { DTYPES, type Dtype } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { at, wrong } from '../../basics/mistakes.js'
import type { Parser } from '../../basics/shape.js'
import {
  either,
  exactlyOne,
  integer,
  isNumber,
  isObject,
  isText,
  list,
  needing,
  nothing,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
  without,
} from '../../basics/shape.js'
import { NO_COMMAND } from '../code.js'
import { allDecoders } from '../kind.js'
import type { Compression, FeedJson, Kind, OpJson, OrderJson } from '../types.js'
import { parseMissing } from './missing.js'
import { megatron } from './order/megatron.js'
import { parseSource } from './sources.js'

const positive = integer({ min: 1 })
const compressions: readonly Compression[] = ['zstd', 'lz4', 'deflate', 'zlib', 'gzip']
const names = list(text, 'a list of names', { min: 1 })
const operators = list((value): OpJson => value as OpJson, 'a list of operators')

/** A reference to a function of the user's own. */
const call = object({
  call: exactlyOne(
    ['export', 'path'],
    without(
      'command',
      NO_COMMAND,
      needing(
        'hash',
        'it is not written by hand. Put the feed into a module, `export default feed({ … })`: open that, or ' +
          'write its definition with JSON.stringify',
        object({ module: text, export: optional(text), path: optional(text), hash: text }),
      ),
    ),
  ),
})

/** The packages that decode them say which there are. */
const kind: Parser<Kind> = (value, path) =>
  oneOf(
    allDecoders().map(({ name }) => name),
    'kind',
  )(value, path)

const fieldShape = object({
  from: either(isText, text, list(text, 'a column, or a list of columns', { min: 1 })),
  as: kind,
  apply: optional(operators),
  dtype: optional(oneOf(Object.keys(DTYPES) as Dtype[], 'dtype')),
  layout: optional(oneOf(['chw', 'hwc'], 'layout')),
  channels: optional((value: unknown, path: string) => {
    if (value === 1 || value === 3) return value
    throw wrong(path, '3 (RGB) or 1 (gray)', value)
  }),
  follow: optional(text),
  shape: optional(list(positive, 'a list of up to 8 whole numbers ≥ 1', { max: 8 })),
  ragged: optional(object({ max: optional(positive), total: optional(positive) })),
  pad: optional(
    object({
      to: either(isNumber, positive, oneOf(['longest'], 'length')),
      multiple: optional(positive),
      value: optional(number()),
      max: optional(positive),
    }),
  ),
  classes: optional(names),
  scale: optional((value: unknown, path: string) => {
    if (value === 'auto' || value === 1 || value === 2 || value === 4 || value === 8) return value
    throw wrong(path, '1, 2, 4, 8 or "auto"', value)
  }),
  orientation: optional(oneOf(['exif', 'stored'], 'orientation')),
  minArea: optional(number({ min: 0 })),
  compression: optional(oneOf(compressions, 'compression')),
  missing: optional(parseMissing),
  map: optional(call),
})

const weights: Parser<unknown> = (value, path) => {
  if (Array.isArray(value)) {
    const parsed = list(number({ min: 0 }), 'a list of weights', { min: 1 })(value, path)
    if (parsed.every(weight => weight === 0))
      throw new DefinitionError(path, 'at least one weight must be above 0')
    return parsed
  }
  return exactlyOne(['column', 'balance'], object({ column: optional(text), balance: optional(text) }))(
    value,
    path,
  )
}

const orderShape = exactlyOne(
  ['shuffle', 'weights', 'megatron'],
  object({
    shuffle: optional(
      either(
        isObject,
        object({ window: positive }),
        either(isText, oneOf(['global'], 'shuffle'), nothing('"global" or {"window": n}')),
      ),
    ),
    weights: optional(weights),
    megatron: optional(megatron),
    samples: optional(positive),
    seed: optional(integer({ min: 0 })),
    group: optional(object({ by: optional(text), batches: optional(positive) })),
  }),
)

const order: Parser<OrderJson> = (value, path) => {
  if (value === 'none' || value === 'megatron') return value
  if (!isObject(value))
    throw wrong(path, '"none", {"shuffle": "global"}, {"weights": …} or {"megatron": …}', value)
  const parsed = orderShape(value, path)
  if (parsed.samples !== undefined && parsed.weights === undefined) {
    throw new DefinitionError(at(path, 'samples'), 'goes with weights only')
  }
  if (parsed.group !== undefined && parsed.megatron !== undefined) {
    throw new DefinitionError(at(path, 'group'), "Megatron's order has no groups: leave it out")
  }
  if (parsed.seed !== undefined && parsed.megatron !== undefined) {
    throw new DefinitionError(at(path, 'seed'), 'goes into "megatron": {"megatron": {"seed": 1234}}')
  }
  return parsed as OrderJson
}

const batchShape = exactlyOne(
  ['size', 'global', 'tokens'],
  object({
    size: optional(positive),
    global: optional(positive),
    tokens: optional(positive),
    rows: optional(positive),
    field: optional(text),
    by: optional(text),
    last: optional(oneOf(['drop', 'keep', 'pad'], 'ending')),
    apply: optional(operators),
  }),
)

const policy = oneOf(['fail', 'drop', 'mask'], 'policy')

/** A feed as written: every key known, every value in its range. What refers to what is checked in validate.ts. */
export const feedShape = object(
  {
    source: parseSource as Parser<FeedJson['source']>,
    order: optional(order),
    fields: record(fieldShape, 'fields, such as {"image": {"from": "jpg", "as": "image"}}'),
    map: optional(call),
    batch: either(
      isNumber,
      positive,
      either(isObject, batchShape, nothing('a whole number, or an object with size, global or tokens')),
    ),
    onError: optional(either(isText, policy, object({ policy, budget: optional(integer({ min: 0 })) }))),
    main: optional(parseSource as Parser<FeedJson['source']>),
    variants: optional(
      record(
        record((value: unknown) => value, 'a merge patch'),
        'patches by name',
      ),
    ),
  },
  'a feed',
)
