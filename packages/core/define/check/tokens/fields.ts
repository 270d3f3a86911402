/**
 * The fields of a feed of tokens. They follow from the source: a feed may leave them out, list columns, or name fields of its own
 * by column and dtype. For all other code they are ordinary fields, so here they are written out as such.
 */
import type { Dtype } from '../../../basics/dtype.js'
import { DefinitionError } from '../../../basics/errors.js'
import { at, unknownName, wrong } from '../../../basics/mistakes.js'
import { isObject, object, oneOf, optional, text } from '../../../basics/shape.js'
import { formatCalled } from '../../format.js'
import { ARRAY, NUMBER } from '../../kind.js'
import { holdsSources, nameOf, withInner } from '../../nested.js'
import type { TokenColumn, TokenPack, TokensJson } from '../../token-types.js'
import type { FieldJson, FieldLayout, NormalField, SourceJson } from '../../types.js'
import { parseSource } from '../sources.js'
import { shiftOf } from './source.js'

/** What the columns of a row follow from. */
export interface TokenShape {
  length: number
  pack: TokenPack
  shift: 'here' | 'model'
  ragged: boolean
  /** Places of cuSeqlens in a row. */
  capacity: number
  varlen?: 'megatron'
  naming?: 'hf'
}

export function tokenShape(json: Omit<TokensJson, 'path'>): TokenShape {
  const { length, pack = 'concat', ragged = false, varlen, naming } = json
  return {
    length,
    pack,
    shift: shiftOf(json),
    ragged,
    capacity: varlen === undefined ? (json.capacity ?? length) : length + 1,
    ...(varlen && { varlen }),
    ...(naming && { naming }),
  }
}

/** One column: its name here, what it is, and the element types it can have. The first is the usual one. */
interface ColumnFacts {
  column: TokenColumn
  dtypes: readonly Dtype[]
  /** A row of it: as long as the row, of the capacity, or one number. */
  of: 'row' | 'borders' | 'number'
}

const MASKS: readonly Dtype[] = ['bool', 'u8', 'i32', 'i64', 'f32', 'f16', 'bf16']

const COLUMNS: readonly ColumnFacts[] = [
  { column: 'input', dtypes: ['i64', 'i32', 'u32', 'u16'], of: 'row' },
  { column: 'tokens', dtypes: ['i64', 'i32', 'u32', 'u16'], of: 'row' },
  { column: 'target', dtypes: ['i64', 'i32'], of: 'row' },
  { column: 'labels', dtypes: ['i64', 'i32'], of: 'row' },
  { column: 'positionIds', dtypes: ['i64', 'i32'], of: 'row' },
  { column: 'segments', dtypes: ['i32', 'i64'], of: 'row' },
  { column: 'lossMask', dtypes: MASKS, of: 'row' },
  { column: 'cuSeqlens', dtypes: ['i32'], of: 'borders' },
  { column: 'seqLens', dtypes: ['i32', 'i64'], of: 'borders' },
  { column: 'cuCount', dtypes: ['i32', 'i64'], of: 'number' },
  { column: 'cuLongest', dtypes: ['i32', 'i64'], of: 'number' },
]

/** What Hugging Face's libraries call columns. */
const HF_NAMES: Readonly<Partial<Record<TokenColumn, string>>> = {
  tokens: 'input_ids',
  positionIds: 'position_ids',
  seqLens: 'seq_lens',
}

/** The columns that rows have, by their names. */
export function tokenColumns({ shift, naming, ragged }: TokenShape): Map<string, TokenColumn> {
  const others: readonly TokenColumn[] = shift === 'here' ? ['tokens', 'labels'] : ['input', 'target']
  const there = COLUMNS.filter(({ column, of }) => !others.includes(column) && !(ragged && of !== 'row'))
  return new Map(
    there.map(({ column }) => [(naming === 'hf' ? HF_NAMES[column] : undefined) ?? column, column]),
  )
}

/** The columns of rows, and what they usually are: `i64 [2048]`. */
export function tokenSchema(shape: TokenShape): { name: string; type: string }[] {
  return [...tokenColumns(shape)].map(([name, column]) => {
    const { dtypes, of } = COLUMNS.find(facts => facts.column === column)!
    const places = of === 'row' ? shape.length : shape.capacity
    return { name, type: of === 'number' ? dtypes[0] : `${dtypes[0]} [${shape.ragged ? '≤ ' : ''}${places}]` }
  })
}

/** Columns that a feed has where it names none. */
function usual({ pack, shift, naming }: TokenShape): string[] {
  if (naming === 'hf')
    return ['input_ids', 'labels', ...(pack === 'bestFit' ? ['position_ids', 'seq_lens'] : [])]
  return shift === 'here' ? ['input', 'target'] : ['tokens', 'labels']
}

/** A feed of tokens with its fields written out; any other value as it is. */
export function withTokenFields(value: unknown, path = ''): unknown {
  if (!isObject(value) || !isObject(value.source)) return value
  const { fields } = value
  if (isObject(fields) && Object.values(fields).every(isWhole)) return value
  if (fields !== undefined && !isObject(fields) && !Array.isArray(fields)) return value
  if (!mentionsTokens(value.source)) return value
  const shape = shapeOf(parseSource(value.source, at(path, 'source')), at(path, 'source'))
  if (shape === undefined) return value
  const columns = tokenColumns(shape)
  return { ...value, fields: written(fields ?? usual(shape), columns, shape, at(path, 'fields')) }
}

const isWhole = (field: unknown): boolean => !isObject(field) || field.as !== undefined

function mentionsTokens(source: Record<string, unknown>): boolean {
  return Object.entries(source).some(
    ([key, inner]) =>
      key === 'tokens' ||
      key === 'chat' ||
      (isObject(inner) && mentionsTokens(inner)) ||
      (Array.isArray(inner) && inner.some(one => isObject(one) && mentionsTokens(one))),
  )
}

/** What all rows of a source have in common, where it is made of tokens alone. */
function shapeOf(source: SourceJson, path = 'source'): TokenShape | undefined {
  const leaves = rowSources(source)
  const shapes = leaves.map(({ source: leaf }) => leafShape(leaf)).filter(shape => shape !== undefined)
  if (shapes.length < leaves.length) return undefined
  const [first] = shapes
  for (const [i, other] of shapes.entries()) {
    const key = (['length', 'shift', 'ragged', 'capacity', 'varlen', 'naming'] as const).find(
      name => other[name] !== first[name],
    )
    if (key === undefined) continue
    const here = [...leaves[i].keys, nameOf(leaves[i].source), key].reduce<string>(
      (text, name) => at(text, name),
      path,
    )
    throw new DefinitionError(
      here,
      `is ${other[key]} here and ${first[key]} in the first source: rows of one feed have the same columns`,
    )
  }
  return first
}

/** The sources whose rows a source gives: what makes rows of others, as chats do, counts, and not what it is made of. */
function rowSources(source: SourceJson, keys: readonly (string | number)[] = []): RowSource[] {
  const name = nameOf(source)
  if (!holdsSources(name) || formatCalled(name)?.facts?.remade) return [{ source, keys }]
  const found: RowSource[] = []
  withInner(source, (inner, below) => {
    found.push(...rowSources(inner, [...keys, ...below]))
    return inner
  })
  return found
}

interface RowSource {
  source: SourceJson
  keys: readonly (string | number)[]
}

function leafShape(source: SourceJson): TokenShape | undefined {
  if ('tokens' in source) return tokenShape(source.tokens)
  if (!('chat' in source) || source.chat.pairs) return undefined
  const { chat } = source
  return tokenShape({ ...chat, pack: chat.pack ?? 'bestFit' })
}

function written(
  fields: unknown,
  columns: Map<string, TokenColumn>,
  shape: TokenShape,
  path: string,
): Record<string, unknown> {
  if (Array.isArray(fields)) {
    return Object.fromEntries(
      fields.map((name, i) => {
        if (typeof name !== 'string') throw wrong(at(path, i), 'the name of a column', name)
        return [name, fieldOf(name, undefined, columns, shape, at(path, i))]
      }),
    )
  }
  return Object.fromEntries(
    Object.entries(fields as Record<string, unknown>).map(([name, field]) => {
      if (isWhole(field)) return [name, field]
      const here = at(path, name)
      const { from } = field as { from?: unknown }
      const facts = typeof from === 'string' ? factsOf(columns, from) : undefined
      const dtypes = facts?.dtypes ?? ['i64']
      const parsed = object({ from: text, dtype: optional(oneOf(dtypes, 'dtype')) })(field, here)
      return [name, fieldOf(parsed.from, parsed.dtype as Dtype | undefined, columns, shape, at(here, 'from'))]
    }),
  )
}

function factsOf(columns: Map<string, TokenColumn>, name: string): ColumnFacts | undefined {
  return COLUMNS.find(({ column }) => column === columns.get(name))
}

function fieldOf(
  from: string,
  dtype: Dtype | undefined,
  columns: Map<string, TokenColumn>,
  shape: TokenShape,
  path: string,
): FieldJson {
  const facts = factsOf(columns, from)
  if (facts === undefined) throw unknownName(path, 'column of tokens', from, [...columns.keys()])
  const type = dtype ?? facts.dtypes[0]
  if (facts.of === 'number') return { from, as: NUMBER, dtype: type }
  if (facts.of === 'borders') return { from, as: ARRAY, dtype: type, shape: [shape.capacity] }
  const { length, ragged } = shape
  return ragged
    ? { from, as: ARRAY, dtype: type, shape: [length], ragged: { max: length } }
    : { from, as: ARRAY, dtype: type, shape: [length] }
}

/** The same source with the key of its phases filled in. */
export function withPhaseSeeds(source: SourceJson, seed: number): SourceJson {
  if (!('tokens' in source)) return withInner(source, inner => withPhaseSeeds(inner, seed))
  const { tokens } = source
  const moves = (tokens.pack ?? 'concat') === 'concat' && tokens.phase === undefined
  return moves && tokens.seed === undefined ? { tokens: { ...tokens, seed } } : source
}

/** The names of columns that have one element for each place of a row. */
export function columnsAlongRow(source: SourceJson): string[] {
  const shape = shapeOf(source)
  const columns = shape === undefined ? new Map<string, TokenColumn>() : tokenColumns(shape)
  return [...columns.keys()].filter(name => factsOf(columns, name)?.of === 'row')
}

/** Places of a row, where the feed is one of tokens. */
export function tokensOfRow(source: SourceJson): number | undefined {
  return shapeOf(source)?.length
}

/** Borders of segments are those of the whole batch, delivered as one array; but with Megatron-LM's, each row has its own. */
export function flatLayout({ from, layout }: NormalField, source: SourceJson): FieldLayout {
  if (!from.includes('cuSeqlens') || layout.form !== 'dense') return layout
  const shape = shapeOf(source)
  return shape === undefined || shape.varlen !== undefined ? layout : { ...layout, flat: shape.length }
}
