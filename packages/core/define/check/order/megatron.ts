/** `order: "megatron"` in a definition: what may be written, its defaults, and the sources it can have. */
import { DefinitionError } from '../../../basics/errors.js'
import { at, wrong } from '../../../basics/mistakes.js'
import {
  boolean,
  integer,
  isText,
  list,
  number,
  object,
  oneOf,
  optional,
  type Parser,
} from '../../../basics/shape.js'
import { nameOf } from '../../nested.js'
import type { MegatronJson, MegatronPart, NormalMegatron } from '../../order-types.js'
import type { BlendJson, OrderJson, SourceJson } from '../../types.js'

/** The parts of a split, by their numbers there. */
const PARTS: readonly MegatronPart[] = ['train', 'valid', 'test']
const USUAL_SPLIT = '969,30,1'

/** As Megatron reads "969, 30, 1": all that looks like a number. */
const split: Parser<string | number[]> = (value, path) => {
  const shares = isText(value)
    ? (value as string).match(/[.0-9]+/g)?.map(Number)
    : list(number({ min: 0 }), 'shares of train, valid and test, such as "969,30,1"')(value, path)
  const fits = shares !== undefined && shares.length > 0 && shares.length <= PARTS.length
  if (!fits || !shares.every(Number.isFinite) || shares.every(share => share === 0))
    throw wrong(path, 'up to three shares of train, valid and test, such as "969,30,1"', value)
  return value as string | number[]
}

const samples: Parser<number | null> = (value, path) =>
  value === null ? null : integer({ min: 1 })(value, path)

const shape = object({
  samples: optional(samples),
  // NumPy's RandomState takes no other.
  seed: optional(integer({ min: 0, max: 2 ** 32 - 1 })),
  split: optional(split),
  take: optional(oneOf(PARTS, 'part')),
  extra: optional(boolean),
  keepPartial: optional(boolean),
  surplus: optional(number({ min: 0 })),
})

export const megatron: Parser<MegatronJson> = (value, path) => {
  const json = shape(value, path) as MegatronJson
  const { split, take } = normalMegatron(json)
  if (split[take] === 0)
    throw new DefinitionError(at(path, 'take'), `the split ${split.join(',')} has no part "${PARTS[take]}"`)
  if (json.keepPartial && PARTS[take] !== 'valid')
    throw new DefinitionError(
      at(path, 'keepPartial'),
      'goes with "take": "valid" only: Megatron drops the partial sample of train and test',
    )
  return json
}

/** With all defaults filled in. */
export function normalMegatron(json: MegatronJson): NormalMegatron {
  const { samples, seed = 1234, split = USUAL_SPLIT, take = 'train' } = json
  const { extra = true, keepPartial = false, surplus = 0.005 } = json
  const shares = typeof split === 'string' ? split.match(/[.0-9]+/g)!.map(Number) : split
  return {
    kind: 'megatron',
    ...(samples !== undefined && samples !== null && { samples }),
    seed,
    split: PARTS.map((_, i) => shares[i] ?? 0),
    take: PARTS.indexOf(take),
    extra,
    keepPartial,
    surplus,
  }
}

/** What an order says of Megatron's; undefined for other orders. */
export function megatronOf(order: OrderJson | undefined): MegatronJson | undefined {
  if (order === 'megatron') return {}
  return typeof order === 'object' && 'megatron' in order ? order.megatron : undefined
}

/** Options of tokens that decide which tokens a row has: Megatron's order decides that itself. */
const DECIDED = ['pack', 'phase', 'tail', 'documents', 'insert', 'seed'] as const

/** Refuses sources of which Megatron has no order. */
export function checkMegatron(json: MegatronJson, source: SourceJson, path: string): void {
  if (!('blend' in source)) {
    checkTokens(json, source, path, 'source')
    return
  }
  checkBlend(json, source.blend, path)
  for (const [i, entry] of (source.blend.entries ?? []).entries())
    checkTokens(json, entry.source, path, `source.blend.entries[${i}].source`)
  if (source.blend.tokens !== undefined)
    checkTokens(json, { tokens: source.blend.tokens } as SourceJson, path, 'source.blend')
}

function checkBlend({ samples }: MegatronJson, blend: BlendJson, path: string): void {
  const { per, entries = [], list } = blend
  for (const key of ['epoch', 'by', 'schedule', 'epochs'] as const)
    if (blend[key] !== undefined)
      throw new DefinitionError(`source.blend.${key}`, `means nothing in Megatron's order: leave it out`)
  if (per === 'batch')
    throw new DefinitionError('source.blend.per', "Megatron's order draws a source for each sample")
  const weighed = list !== undefined || entries.some(({ weight }) => weight !== undefined)
  if (weighed && (samples ?? null) === null)
    throw new DefinitionError(
      at(path, 'samples'),
      'a blend with weights needs it, as in Megatron: how many samples the whole run has (global batch · iterations). ' +
        'Without weights, all samples of all entries are drawn once',
    )
  const without = entries.findIndex(({ weight }) => !weight)
  if (weighed && without >= 0)
    throw new DefinitionError(
      `source.blend.entries[${without}].weight`,
      "is above 0 in all entries or in none of a blend in Megatron's order",
    )
}

function checkTokens({ extra }: MegatronJson, source: SourceJson, path: string, here: string): void {
  if (!('tokens' in source))
    throw new DefinitionError(
      path,
      `Megatron's order is one of token files: "tokens", or a blend of them, not "${nameOf(source)}"`,
    )
  const { tokens } = source
  const decided = DECIDED.find(key => tokens[key] !== undefined && tokens[key] !== 'concat')
  if (decided !== undefined)
    throw new DefinitionError(
      `${here}.tokens.${decided}`,
      decided === 'documents'
        ? 'in Megatron\'s order, "split" and "take" of the order say which documents belong to the feed'
        : "means nothing in Megatron's order, which decides what stands in a row: leave it out",
    )
  const shift = tokens.shift ?? (tokens.naming === 'hf' ? 'model' : 'here')
  if (extra === false && shift === 'here')
    throw new DefinitionError(
      at(path, 'extra'),
      'samples without the extra token have no target for their last place: use "shift": "model" of the source',
    )
}
