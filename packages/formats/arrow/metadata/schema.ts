/** The schema of an Arrow file: its fields as a tree, and how the values of each lie in the buffers of a batch. */
import type { StoredDtype } from '../../../core/basics/array.js'
import type { Table } from './flatbuffer.js'

/**
 * How a field lies in a batch, after the bits that say which values are null:
 *
 *   none     no buffers                  fixed   values of `width` bytes        bool    a bit a value
 *   varying  offsets, bytes              view    16 bytes a value, any buffers  list    offsets into the child
 *   array    a list of `size` each       struct  its children                   other   can't be read
 */
export type Form = 'none' | 'fixed' | 'bool' | 'varying' | 'view' | 'list' | 'array' | 'struct' | 'other'

/** What a value is: an element, UTF-8, bytes, or a decimal. */
export type Items = StoredDtype | 'text' | 'bytes' | 'decimal'

/** Plain data: it goes to every thread. */
export interface Field {
  name: string
  /** As Arrow calls it, such as `list<int32>`. */
  type: string
  form: Form
  items?: Items
  /** Bytes of a value, of form `fixed`; of an offset, of forms `varying` and `list`. */
  width: number
  /** Of lists of one size: that. Of decimals: digits behind the point. */
  size: number
  /** Of lists of one size that are arrays: the shape. */
  shape?: number[]
  /** How many buffers a batch has for the field itself, without those of views. */
  buffers: number
  children: Field[]
  /** The number of its node among those of a batch. */
  node: number
  /** Of codes of a dictionary: its id, and what its entries are. */
  dictionary?: { id: number; values: Field }
}

export interface Schema {
  fields: Field[]
  /** How many nodes a batch has. */
  nodes: number
  metadata: Record<string, string>
}

/** Fields that lie within each other: more are no data that people have. */
const DEEPEST = 64

/** Digits behind the point of a decimal: 256 bits have 76. */
const MOST_SCALE = 76

const UNITS = ['s', 'ms', 'us', 'ns']

export function parseSchema(table: Table, version: number): Schema {
  if (table.i16(0) !== 0)
    table.buffer.fail('it is big-endian, which Millrace does not read: write it on a little-endian machine')
  const parser = new Parser(version)
  const fields = table.tables(1).map(field => parser.field(field, 0))
  return { fields, nodes: parser.nodes, metadata: pairsOf(table, 2) }
}

/** Whether a value from an index is a schema. */
export function isSchema(value: Partial<Schema> | undefined): value is Schema {
  const isField = (field: Partial<Field> | undefined): boolean =>
    typeof field?.name === 'string' &&
    typeof field.type === 'string' &&
    [field.width, field.size, field.buffers, field.node].every(number => typeof number === 'number') &&
    Array.isArray(field.children) &&
    field.children.every(isField) &&
    (field.dictionary === undefined || isField(field.dictionary.values))
  return Array.isArray(value?.fields) && value.fields.every(isField) && typeof value.nodes === 'number'
}

function pairsOf(table: Table, field: number): Record<string, string> {
  const pairs = table.tables(field).map(pair => [pair.text(0) ?? '', pair.text(1) ?? ''])
  return Object.fromEntries(pairs)
}

class Parser {
  nodes = 0

  constructor(private readonly version: number) {}

  field(table: Table, depth: number): Field {
    if (depth > DEEPEST) table.buffer.fail(`fields lie within each other more than ${DEEPEST} deep`)
    const name = table.text(0) ?? ''
    const dictionary = table.table(4)
    const node = this.nodes++
    if (dictionary === undefined) return { name, node, ...this.type(table, depth) }
    // Its nodes are those of the batches of the dictionary, which begin with 0.
    const values = new Parser(this.version).values(table, name, depth)
    const index = dictionary.table(1)
    const codes = index === undefined ? INT32 : integer(index)
    return {
      name,
      node,
      ...codes,
      type: `dictionary<${values.type}>`,
      children: [],
      dictionary: { id: dictionary.i64(0), values },
    }
  }

  private values(table: Table, name: string, depth: number): Field {
    this.nodes = 1
    return { name, node: 0, ...this.type(table, depth) }
  }

  private type(field: Table, depth: number): Omit<Field, 'name' | 'node'> {
    const kind = TYPES[field.i8(2)]
    const table = field.table(3)
    if (kind === undefined || table === undefined)
      return field.buffer.fail(`the field "${field.text(0)}" has an unknown type, number ${field.i8(2)}`)
    const children = field.tables(5).map(child => this.field(child, depth + 1))
    const shape = shapeOf(kind, table, children, this.version)
    const wanted = CHILDREN[shape.form]
    if (wanted !== undefined && children.length !== wanted)
      return field.buffer.fail(
        `the field "${field.text(0)}" of type ${shape.type} has ${children.length} children`,
      )
    const tensor = shape.form === 'array' ? tensorShape(pairsOf(field, 6), shape.size) : undefined
    return { ...shape, children, ...(tensor && { shape: tensor }) }
  }
}

const CHILDREN: Partial<Record<Form, number>> = {
  list: 1,
  array: 1,
  fixed: 0,
  bool: 0,
  varying: 0,
  view: 0,
  none: 0,
}

/** By the numbers of Arrow's union `Type`. */
const TYPES = [
  undefined,
  'null',
  'int',
  'float',
  'binary',
  'utf8',
  'bool',
  'decimal',
  'date',
  'time',
  'timestamp',
  'interval',
  'list',
  'struct',
  'union',
  'fixed_size_binary',
  'fixed_size_list',
  'map',
  'duration',
  'large_binary',
  'large_utf8',
  'large_list',
  'run_end_encoded',
  'binary_view',
  'utf8_view',
  'list_view',
  'large_list_view',
] as const

type Shape = Omit<Field, 'name' | 'node' | 'children'>

const fixed = (type: string, items: Items, width: number, size = 0): Shape => ({
  type,
  form: 'fixed',
  items,
  width,
  size,
  buffers: 2,
})
const varying = (type: string, items: Items, width: number): Shape => ({
  type,
  form: 'varying',
  items,
  width,
  size: 0,
  buffers: 3,
})
const view = (type: string, items: Items): Shape => ({
  type,
  form: 'view',
  items,
  width: 16,
  size: 0,
  buffers: 2,
})
const list = (type: string, width: number): Shape => ({ type, form: 'list', width, size: 0, buffers: 2 })
const other = (type: string, buffers: number): Shape => ({ type, form: 'other', width: 0, size: 0, buffers })

const INT32: Shape = fixed('int32', 'i32', 4)

function integer(table: Table): Shape {
  const bits = table.i32(0)
  if (![8, 16, 32, 64].includes(bits)) return table.buffer.fail(`there are no integers of ${bits} bits`)
  const signed = table.i8(1) !== 0
  return fixed(`${signed ? '' : 'u'}int${bits}`, `${signed ? 'i' : 'u'}${bits}` as StoredDtype, bits / 8)
}

function shapeOf(
  kind: NonNullable<(typeof TYPES)[number]>,
  table: Table,
  children: readonly Field[],
  version: number,
): Shape {
  const of = children.map(child => child.type).join(', ')
  // Until version 4 of the metadata (numbered 3), all types but null had bits for nulls.
  const bits = version < 4 ? 1 : 0
  const unit = (): string => UNITS[table.i16(0, 1)] ?? table.buffer.fail('it has an unknown unit of time')
  switch (kind) {
    case 'null':
      return { type: 'null', form: 'none', width: 0, size: 0, buffers: 0 }
    case 'int':
      return integer(table)
    case 'float': {
      const [type, items, width] = FLOATS[table.i16(0)] ?? table.buffer.fail('it has floats of unknown width')
      return fixed(type, items, width)
    }
    case 'bool':
      return { type: 'bool', form: 'bool', items: 'bool', width: 0, size: 0, buffers: 2 }
    case 'utf8':
      return varying('utf8', 'text', 4)
    case 'binary':
      return varying('binary', 'bytes', 4)
    case 'large_utf8':
      return varying('large_utf8', 'text', 8)
    case 'large_binary':
      return varying('large_binary', 'bytes', 8)
    case 'utf8_view':
      return view('utf8_view', 'text')
    case 'binary_view':
      return view('binary_view', 'bytes')
    case 'decimal':
      return decimal(table)
    case 'date':
      return table.i16(0, 1) === 0 ? fixed('date32[day]', 'i32', 4) : fixed('date64[ms]', 'i64', 8)
    case 'time':
      return table.i32(1, 32) === 64
        ? fixed(`time64[${unit()}]`, 'i64', 8)
        : fixed(`time32[${unit()}]`, 'i32', 4)
    case 'timestamp': {
      const zone = table.text(1)
      const in_ = UNITS[table.i16(0)] ?? table.buffer.fail('it has an unknown unit of time')
      return fixed(`timestamp[${in_}${zone ? `, ${zone}` : ''}]`, 'i64', 8)
    }
    case 'duration':
      return fixed(`duration[${unit()}]`, 'i64', 8)
    case 'fixed_size_binary': {
      const width = table.i32(0)
      if (width < 0) return table.buffer.fail(`it has values of ${width} bytes`)
      return fixed(`fixed_size_binary[${width}]`, 'bytes', width)
    }
    case 'fixed_size_list': {
      const size = table.i32(0)
      if (size < 0) return table.buffer.fail(`it has lists of ${size} elements`)
      return { type: `fixed_size_list<${of}>[${size}]`, form: 'array', width: 0, size, buffers: 1 }
    }
    case 'list':
      return list(`list<${of}>`, 4)
    case 'large_list':
      return list(`large_list<${of}>`, 8)
    case 'map':
      return list(`map<${of}>`, 4)
    case 'struct':
      return { type: `struct<${fieldsOf(children)}>`, form: 'struct', width: 0, size: 0, buffers: 1 }
    case 'interval':
      return other('interval', 2)
    case 'union': {
      const dense = table.i16(0) === 1
      return other(`union<${of}>`, (dense ? 2 : 1) + bits)
    }
    case 'run_end_encoded':
      return other(`run_end_encoded<${of}>`, bits)
    case 'list_view':
      return other(`list_view<${of}>`, 3)
    case 'large_list_view':
      return other(`large_list_view<${of}>`, 3)
  }
}

const FLOATS: [string, StoredDtype, number][] = [
  ['float16', 'f16', 2],
  ['float32', 'f32', 4],
  ['float64', 'f64', 8],
]

const fieldsOf = (children: readonly Field[]): string =>
  children.map(({ name, type }) => `${name}: ${type}`).join(', ')

function decimal(table: Table): Shape {
  const [precision, scale, bits] = [table.i32(0), table.i32(1), table.i32(2, 128)]
  if (![32, 64, 128, 256].includes(bits)) return table.buffer.fail(`there are no decimals of ${bits} bits`)
  if (Math.abs(scale) > MOST_SCALE)
    return table.buffer.fail(`there are no decimals with ${scale} digits behind the point`)
  return fixed(`decimal${bits}(${precision}, ${scale})`, 'decimal', bits / 8, scale)
}

const NAME = 'arrow.fixed_shape_tensor'

/** The shape of each value; undefined where the field is no such array, or its axes are stored in another order. */
function tensorShape(metadata: Readonly<Record<string, string>>, size: number): number[] | undefined {
  if (metadata['ARROW:extension:name'] !== NAME) return undefined
  try {
    const told = JSON.parse(metadata['ARROW:extension:metadata']) as {
      shape?: unknown
      permutation?: unknown
    }
    const { shape, permutation = [] } = told
    if (!Array.isArray(shape) || !Array.isArray(permutation)) return undefined
    const isShape =
      shape.every(n => Number.isInteger(n) && n >= 0) && shape.reduce((a, b) => a * b, 1) === size
    return isShape && permutation.every((axis, i) => axis === i) ? shape : undefined
  } catch {
    return undefined // no JSON: it is a list then
  }
}
