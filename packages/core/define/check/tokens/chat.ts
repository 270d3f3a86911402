/** What may be written for the source `chat`, and the fields of a feed of pairs. */
import { DefinitionError } from '../../../basics/errors.js'
import { at, unknownName, wrong } from '../../../basics/mistakes.js'
import {
  boolean,
  integer,
  isObject,
  object,
  oneOf,
  optional,
  type Parser,
  text,
} from '../../../basics/shape.js'
import { ARRAY } from '../../kind.js'
import type { PairColumn } from '../../token-types.js'
import type { ChatJson, FieldJson, SourceJson } from '../../types.js'
import { documents, packedKeys } from './source.js'

/** A day, or a moment of it. There is no time zone in it. */
const NOW = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?$/

const moment: Parser<string> = (value, path) => {
  if (typeof value === 'string' && NOW.test(value)) return value
  throw wrong(path, 'a date such as "2024-07-26" or "2024-07-26T09:30:00"', value)
}

const anything: Parser<Record<string, unknown>> = (value, path) => {
  if (isObject(value)) return value
  throw wrong(path, 'variables for the template, such as {"enable_thinking": false}', value)
}

/** `source`: what may be written for the source inside. */
export function chatParser(source: Parser<SourceJson>): Parser<ChatJson> {
  const shape = object({
    source,
    tokenizer: text,
    template: optional(text),
    train: optional(oneOf(['assistant', 'last', 'completion', 'all'], 'part')),
    contents: optional(oneOf(['parse', 'text'], 'way')),
    now: optional(moment),
    variables: optional(anything),
    length: integer({ min: 1, max: 2 ** 28 }),
    pack: optional(oneOf(['bestFit', 'document'], 'packing')),
    pairs: optional(boolean),
    shift: optional(oneOf(['here', 'model'], 'shift')),
    long: optional(oneOf(['split', 'truncate', 'drop'], 'rule')),
    ragged: optional(boolean),
    documents: optional(documents),
    name: optional(text),
    capacity: optional(integer({ min: 1 })),
    varlen: optional(oneOf(['megatron'], 'form')),
    naming: optional(oneOf(['hf'], 'naming')),
  })
  return (value, path) => {
    const json = shape(value, path) as ChatJson
    if (json.pairs) checkPairs(json, path)
    else packedKeys({ ...json, pack: json.pack ?? 'bestFit' }, path)
    return json
  }
}

/** Keys that say how rows are packed, which pairs never are. */
const PACKING = ['train', 'pack', 'shift', 'capacity', 'varlen', 'documents'] as const

function checkPairs(json: ChatJson, path: string): void {
  for (const key of PACKING)
    if (json[key] !== undefined)
      throw new DefinitionError(
        at(path, key),
        'does not go with "pairs": a pair is a row of its own, and both answers are trained on',
      )
  if (json.long === 'split')
    throw new DefinitionError(at(path, 'long'), '"split" does not go with "pairs": take "truncate" or "drop"')
}

const PAIR_COLUMNS: readonly PairColumn[] = [
  'prompt',
  'chosen',
  'rejected',
  'promptMask',
  'chosenMask',
  'rejectedMask',
]

/** The columns of pairs by their names: TRL's, with `naming: "hf"`. */
export function pairColumns({ naming }: Pick<ChatJson, 'naming'>): Map<string, PairColumn> {
  return new Map(
    PAIR_COLUMNS.map(column => [
      naming === undefined
        ? column
        : column.endsWith('Mask')
          ? `${column.slice(0, -4)}_attention_mask`
          : `${column}_ids`,
      column,
    ]),
  )
}

/** A feed of pairs with its fields written out; any other value as it is. */
export function withPairFields(value: unknown, path = ''): unknown {
  if (!isObject(value) || !isObject(value.source) || !isObject(value.source.chat)) return value
  const { chat } = value.source
  const { fields } = value
  if (chat.pairs !== true || (isObject(fields) && !Array.isArray(fields))) return value
  const columns = pairColumns(chat as unknown as ChatJson)
  const names = Array.isArray(fields)
    ? fields
    : [...columns].flatMap(([name, column]) =>
        chat.ragged === true && column.endsWith('Mask') ? [] : [name],
      )
  return {
    ...value,
    fields: Object.fromEntries(
      names.map((name, i) => {
        const here = at(at(path, 'fields'), i)
        if (typeof name !== 'string') throw wrong(here, 'the name of a column', name)
        const column = columns.get(name)
        if (column === undefined) throw unknownName(here, 'column of pairs', name, [...columns.keys()])
        return [name, pairField(name, column, chat as unknown as ChatJson)]
      }),
    ),
  }
}

function pairField(from: string, column: PairColumn, { length, ragged }: ChatJson): FieldJson {
  const dtype = column.endsWith('Mask') ? 'bool' : 'i64'
  const field: FieldJson = { from, as: ARRAY, dtype, shape: [length] }
  return ragged
    ? { ...field, shape: [length], ragged: { max: length } }
    : { ...field, shape: [length], pad: { to: 'longest', max: length } }
}
