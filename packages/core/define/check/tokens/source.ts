/** What may be written for the source `tokens`, and which keys go together. */
import { DefinitionError } from '../../../basics/errors.js'
import { at, wrong } from '../../../basics/mistakes.js'
import {
  boolean,
  integer,
  list,
  number,
  object,
  oneOf,
  optional,
  type Parser,
  text,
} from '../../../basics/shape.js'
import type { TokenDocumentsJson, TokenPack, TokensJson } from '../../token-types.js'
import { paths } from '../paths.js'

const token = integer({ min: 0, max: 2 ** 31 - 1 })
const positive = integer({ min: 1 })
/** So that a place in a row is a whole number of 32 bits, with room to spare. */
const MOST_LENGTH = 2 ** 28

const none: Parser<0> = (value, path) => {
  if (value === 0) return value
  throw wrong(path, '0, which has all epochs cut at the same places', value)
}

const documentsShape = object({
  split: list(number({ min: 0 }), 'shares of the documents, such as [969, 30, 1]', { min: 1 }),
  take: integer({ min: 0 }),
  by: optional(oneOf(['megatron', 'hash'], 'division')),
  seed: optional(integer({ min: 0 })),
})

export const documents: Parser<TokenDocumentsJson> = (value, path) => {
  const json = documentsShape(value, path) as TokenDocumentsJson
  const { split, take, by, seed } = json
  if (split.every(share => share === 0))
    throw new DefinitionError(at(path, 'split'), 'at least one share must be above 0')
  if (take >= split.length)
    throw wrong(at(path, 'take'), `the number of a share, 0 to ${split.length - 1}`, take)
  if (split[take] === 0)
    throw new DefinitionError(at(path, 'take'), `share ${take} is 0: no document is in it`)
  if (seed !== undefined && by !== 'hash')
    throw new DefinitionError(at(path, 'seed'), 'goes with "by": "hash" only')
  return json
}

const shape = object({
  path: paths,
  format: optional(oneOf(['megatron', 'nanogpt', 'llmc', 'npy', 'olmo'], 'format')),
  dtype: optional(oneOf(['u8', 'u16', 'u32', 'i32', 'i64'], 'dtype')),
  eod: optional(token),
  eodAt: optional(oneOf(['end', 'start'], 'place')),
  length: integer({ min: 1, max: MOST_LENGTH }),
  pack: optional(oneOf(['concat', 'bestFit', 'document'], 'packing')),
  shift: optional(oneOf(['here', 'model'], 'shift')),
  phase: optional(none),
  tail: optional(oneOf(['drop', 'pad'], 'tail')),
  long: optional(oneOf(['split', 'truncate', 'drop'], 'rule')),
  insert: optional(object({ bos: optional(token), eod: optional(token) })),
  ragged: optional(boolean),
  documents: optional(documents),
  vocabulary: optional(positive),
  mask: optional(paths),
  name: optional(text),
  capacity: optional(positive),
  varlen: optional(oneOf(['megatron'], 'form')),
  naming: optional(oneOf(['hf'], 'naming')),
  seed: optional(integer({ min: 0 })),
})

/** Keys that mean something for some ways of packing only. */
const ONLY: Readonly<Partial<Record<keyof TokensJson, readonly TokenPack[]>>> = {
  phase: ['concat'],
  seed: ['concat'],
  tail: ['concat'],
  long: ['bestFit', 'document'],
  insert: ['bestFit', 'document'],
  ragged: ['document'],
}

export const tokens: Parser<TokensJson> = (value, path) => {
  const json = shape(value, path) as TokensJson
  packedKeys(json, path)
  return json
}

/** Refuses keys that don't go together. */
export function packedKeys(json: Omit<TokensJson, 'path'>, path: string): void {
  const { pack = 'concat', shift, naming, capacity, varlen, ragged, length } = json
  for (const [key, packs] of Object.entries(ONLY)) {
    if (json[key as keyof typeof json] === undefined || packs.includes(pack)) continue
    const why = key === 'insert' ? ': rows of "concat" are cut out of the stream as it is' : ''
    throw new DefinitionError(
      at(path, key),
      `goes with "pack": ${packs.map(name => `"${name}"`).join(' or ')}, not with "${pack}"${why}`,
    )
  }
  if (naming === 'hf' && shift === 'here')
    throw new DefinitionError(
      at(path, 'naming'),
      '"hf" goes with "shift": "model": models of Hugging Face shift the labels themselves',
    )
  if (capacity !== undefined && varlen !== undefined)
    throw new DefinitionError(
      at(path, 'capacity'),
      `with "varlen": "megatron" there are always ${length + 1} places: leave one of them out`,
    )
  // A batch in which every place is a segment of its own has one border more than places.
  if (capacity !== undefined && capacity > length + 1)
    throw wrong(at(path, 'capacity'), `at most length + 1, ${length + 1}`, capacity)
  if (ragged && (capacity ?? varlen) !== undefined)
    throw new DefinitionError(at(path, 'ragged'), 'ragged rows are one document each: they have no cuSeqlens')
}

/** How tokens are shifted: models of Hugging Face do it themselves. */
export const shiftOf = ({ shift, naming }: Pick<TokensJson, 'shift' | 'naming'>): 'here' | 'model' =>
  shift ?? (naming === 'hf' ? 'model' : 'here')
