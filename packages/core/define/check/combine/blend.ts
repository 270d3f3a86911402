/** What may be written for the source `blend`. */
import { DefinitionError } from '../../../basics/errors.js'
import { at, show, unknownName, wrong } from '../../../basics/mistakes.js'
import {
  exactlyOne,
  integer,
  isObject,
  list,
  number,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
  withDefault,
} from '../../../basics/shape.js'
import { formatCalled } from '../../format.js'
import type { BlendJson, SourceJson } from '../../types.js'

const above = number({ above: 0 })

/** `inner` parses the sources of entries. */
export function blendParser(inner: Parser<SourceJson>): Parser<BlendJson> {
  /** Token files by a list have their path, and a name, from there. */
  const template: Parser<unknown> = (value, path) => {
    if (!isObject(value)) throw wrong(path, 'what the files of the list are, such as {"length": 2048}', value)
    for (const key of ['path', 'name'])
      if (value[key] !== undefined)
        throw new DefinitionError(at(path, key), 'comes from the list: leave it out')
    const tokens = formatCalled('tokens')!
    const { path: _, ...rest } = tokens.shape({ ...value, path: 'list' }, path) as Record<string, unknown>
    return rest
  }

  const shape = exactlyOne(
    ['entries', 'list'],
    object({
      entries: optional(
        list(
          object({
            source: inner,
            weight: optional(number({ min: 0 })),
            epochs: optional(above),
            name: optional(text),
            corpus: optional(text),
            rename: optional(record(text, 'new names by old names')),
          }),
          'a list of entries',
          { min: 1 },
        ),
      ),
      list: optional(text),
      root: optional(text),
      tokens: optional(template),
      epochs: optional(record(above, 'epochs by corpus, such as {"web": 1, "wiki": 3}')),
      per: withDefault(oneOf(['sample', 'batch'], 'unit'), 'sample'),
      epoch: optional(integer({ min: 1 })),
      by: optional(oneOf(['rows', 'tokens'], 'measure')),
      schedule: optional(oneOf(['shuffled', 'deficit'], 'schedule')),
      maxEpochs: optional(above),
    }),
  )

  return (value, path) => {
    const json = shape(value, path) as BlendJson
    const { list, tokens, epochs, entries } = json
    if (list !== undefined && tokens === undefined)
      throw new DefinitionError(
        at(path, 'tokens'),
        'a list of token files needs it: what its files are, such as {"length": 2048}',
      )
    if (list === undefined) {
      for (const key of ['tokens', 'epochs', 'root'] as const)
        if (json[key] !== undefined)
          throw new DefinitionError(
            at(path, key),
            key === 'epochs'
              ? 'goes with "list" only; entries have "epochs" of their own'
              : 'goes with "list" only',
          )
      checkEntries(entries!, at(path, 'entries'))
    }
    if (json.by === 'tokens' && (epochs ?? entries?.[0].epochs) !== undefined)
      throw new DefinitionError(
        at(path, 'by'),
        'goes with weights: epochs count whole sources, whatever fills their rows',
      )
    return json
  }
}

type Entries = NonNullable<BlendJson['entries']>

function checkEntries(entries: Entries, path: string): void {
  const by = entries.some(entry => entry.epochs !== undefined) ? 'epochs' : 'weight'
  const seen = new Set<string>()
  entries.forEach(({ name, weight, epochs, corpus }, i) => {
    const here = at(path, i)
    if (by === 'epochs' && weight !== undefined)
      throw new DefinitionError(
        at(here, 'weight'),
        'an entry of this blend has "epochs": give all of them epochs, or weights',
      )
    if (by === 'epochs' && epochs === undefined)
      throw new DefinitionError(
        at(here, 'epochs'),
        'expected a number above 0: other entries of this blend have it',
      )
    if (name === undefined) return
    if (seen.has(name)) throw new DefinitionError(at(here, 'name'), `${show(name)} is there twice`)
    seen.add(name)
    if (corpus !== undefined && corpus !== name && entries.some(entry => entry.name === corpus))
      throw new DefinitionError(at(here, 'corpus'), `${show(corpus)} is the name of an entry`)
  })
  if (by === 'weight' && entries.every(entry => entry.weight === 0))
    throw new DefinitionError(path, 'at least one weight must be above 0')
}

/** Refuses entries without a weight, unless the order is Megatron's. */
export function checkWeights({ entries = [] }: BlendJson, path: string): void {
  const without = entries.findIndex(({ weight, epochs }) => weight === undefined && epochs === undefined)
  if (without >= 0) throw wrong(at(at(at(path, 'entries'), without), 'weight'), 'a number from 0', undefined)
}

/** The epochs of each corpus of a list. */
export function epochsByCorpus(
  epochs: Readonly<Record<string, number>>,
  corpora: readonly string[],
  path = 'source.blend.epochs',
): Map<string, number> {
  for (const name of Object.keys(epochs))
    if (!corpora.includes(name)) throw unknownName(at(path, name), 'corpus', name, corpora)
  const missing = corpora.find(name => !Object.hasOwn(epochs, name))
  if (missing !== undefined)
    throw new DefinitionError(
      at(path, missing),
      `the list has this corpus: say how often it is seen, or weight by the list alone`,
    )
  return new Map(Object.entries(epochs))
}
