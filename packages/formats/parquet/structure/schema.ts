/**
 * The schema of a file, as its leaves: the columns that are stored. A leaf is named by the fields that lead to it, without the
 * groups that Parquet puts around lists and maps: `tokens`, `image.bytes`, `objects.label`.
 */
import { SourceError } from '../../../core/basics/errors.js'
import { PHYSICAL, type Physical } from '../names.js'
import type { Thrift } from './thrift.js'

/** An element of the schema, as it is written: a tree, depth first. */
export interface SchemaElement {
  name: string
  /** A leaf has a type, a group has children. */
  type?: number
  typeLength: number
  /** 0 required, 1 optional, 2 repeated. */
  repetition: number
  children: number
  /** What the values stand for: see `logicalOf`. */
  logical?: Logical
}

/** What values stand for. `kind` is the name of a logical type, in small letters. */
export interface Logical {
  kind: string
  scale?: number
  bits?: number
  signed?: boolean
  unit?: string
}

/** A stored column. Plain data: it is kept in the index. */
export interface ParquetLeaf {
  name: string
  physical: Physical
  /** Bytes of a FIXED_LEN_BYTE_ARRAY. */
  width: number
  logical?: Logical
  /** Greatest levels. A value is there where its definition level is `definition`. */
  definition: number
  repetition: number
  /** Of a list: the definition level from which on a row has elements. */
  elements: number
  /** Of lists in lists: the same for the lists of each depth, the outermost first. */
  lists?: readonly number[]
}

/** Elements of a schema at most: a file with more has no sensible schema. */
const MOST_ELEMENTS = 100_000
const CONVERTED: Readonly<Record<number, Logical>> = {
  0: { kind: 'string' },
  1: { kind: 'map' },
  2: { kind: 'map' },
  3: { kind: 'list' },
  4: { kind: 'enum' },
  5: { kind: 'decimal' },
  6: { kind: 'date' },
  7: { kind: 'time', unit: 'ms' },
  8: { kind: 'time', unit: 'us' },
  9: { kind: 'timestamp', unit: 'ms' },
  10: { kind: 'timestamp', unit: 'us' },
  11: { kind: 'integer', bits: 8, signed: false },
  12: { kind: 'integer', bits: 16, signed: false },
  13: { kind: 'integer', bits: 32, signed: false },
  14: { kind: 'integer', bits: 64, signed: false },
  15: { kind: 'integer', bits: 8, signed: true },
  16: { kind: 'integer', bits: 16, signed: true },
  17: { kind: 'integer', bits: 32, signed: true },
  18: { kind: 'integer', bits: 64, signed: true },
  19: { kind: 'json' },
  20: { kind: 'bson' },
  21: { kind: 'interval' },
}
const LOGICAL = [
  ...['', 'string', 'map', 'list', 'enum', 'decimal', 'date', 'time', 'timestamp', 'interval', 'integer'],
  ...['null', 'json', 'bson', 'uuid', 'float16', 'variant', 'geometry', 'geography'],
]
const UNITS = ['', 'ms', 'us', 'ns']

/** The list of elements, from field 2 of the footer. */
export function readSchema(thrift: Thrift): SchemaElement[] {
  const count = thrift.list()
  if (count > MOST_ELEMENTS)
    throw new SourceError(`the schema has ${count} elements, ${MOST_ELEMENTS} at most are read`)
  return Array.from({ length: count }, () => readElement(thrift))
}

function readElement(thrift: Thrift): SchemaElement {
  const element: SchemaElement = { name: '', typeLength: 0, repetition: 0, children: 0 }
  let converted: Logical | undefined
  let scale = 0
  const outer = thrift.enter()
  for (let id = thrift.field(); id !== 0; id = thrift.field()) {
    if (id === 1) element.type = thrift.count()
    else if (id === 2) element.typeLength = thrift.count()
    else if (id === 3) element.repetition = thrift.count()
    else if (id === 4) element.name = thrift.text()
    else if (id === 5) element.children = thrift.count()
    else if (id === 6) converted = CONVERTED[thrift.count()]
    else if (id === 7) scale = thrift.number()
    else if (id === 10) element.logical = readLogical(thrift)
    else thrift.skip()
  }
  thrift.leave(outer)
  element.logical ??= converted?.kind === 'decimal' ? { ...converted, scale } : converted
  return element
}

/** The union LogicalType: one field, whose number is the type. */
function readLogical(thrift: Thrift): Logical {
  const logical: Logical = { kind: 'unknown' }
  const outer = thrift.struct()
  for (let id = thrift.field(); id !== 0; id = thrift.field()) {
    logical.kind = LOGICAL[id] ?? `number ${id}`
    const union = thrift.struct()
    for (let inner = thrift.field(); inner !== 0; inner = thrift.field()) {
      if (logical.kind === 'decimal' && inner === 1) logical.scale = thrift.number()
      else if (logical.kind === 'integer' && inner === 1) logical.bits = thrift.number()
      else if (logical.kind === 'integer' && inner === 2) logical.signed = thrift.bool()
      else if (/^time/.test(logical.kind) && inner === 2) logical.unit = readUnit(thrift)
      else thrift.skip()
    }
    thrift.leave(union)
  }
  thrift.leave(outer)
  return logical
}

function readUnit(thrift: Thrift): string {
  let unit = ''
  const outer = thrift.struct()
  for (let id = thrift.field(); id !== 0; id = thrift.field()) {
    unit = UNITS[id] ?? ''
    thrift.skip()
  }
  thrift.leave(outer)
  return unit
}

/** The leaves, in the order in which row groups have their columns. */
export function leavesOf(elements: readonly SchemaElement[]): ParquetLeaf[] {
  const leaves: ParquetLeaf[] = []
  let next = 1
  const walk = (names: readonly string[], around: Levels, inList: boolean, depth: number): void => {
    const element = elements[next++]
    if (element === undefined || depth > 64)
      throw new SourceError('its schema is no tree: groups have more children than there are elements')
    const levels: Levels = {
      definition: around.definition + (element.repetition === 0 ? 0 : 1),
      repetition: around.repetition + (element.repetition === 2 ? 1 : 0),
      elements: element.repetition === 2 ? around.definition + 1 : around.elements,
      lists: element.repetition === 2 ? [...around.lists, around.definition + 1] : around.lists,
    }
    const path = inList ? names : [...names, element.name]
    if (element.type !== undefined) {
      const { lists, ...plain } = levels
      leaves.push({ ...leafOf(element), name: path.join('.'), ...plain, ...(lists.length > 1 && { lists }) })
      return
    }
    const { kind = '' } = element.logical ?? {}
    for (let child = 0; child < element.children; child++) {
      const below = elements[next]
      if (below === undefined) continue // refused in the next call
      walk(path, levels, isWrapper(element, kind, below, inList), depth + 1)
    }
  }
  for (let child = 0; child < (elements[0]?.children ?? 0); child++)
    walk([], { definition: 0, repetition: 0, elements: 0, lists: [] }, false, 0)
  return leaves
}

interface Levels {
  definition: number
  repetition: number
  elements: number
  lists: number[]
}

/** Whether a child's name is that of a wrapper around elements: `list` and `element`, `array`, `key_value`. */
function isWrapper(parent: SchemaElement, kind: string, child: SchemaElement, inList: boolean): boolean {
  if (kind === 'list' || kind === 'map') return child.repetition === 2
  // The repeated group of a list holds its element, alone. Those of a map hold a key and a value, by name.
  return inList && parent.repetition === 2 && parent.children === 1 && !/^array$|_tuple$/.test(parent.name)
}

function leafOf({
  name,
  type,
  typeLength,
  logical,
}: SchemaElement): Pick<ParquetLeaf, 'physical' | 'width' | 'logical'> {
  const physical = PHYSICAL[type as number]
  if (physical === undefined)
    throw new SourceError(`column "${name}" has the physical type ${type}, which Parquet does not have`)
  return {
    physical,
    width: physical === 'FIXED_LEN_BYTE_ARRAY' ? typeLength : 0,
    ...(logical && { logical }),
  }
}
