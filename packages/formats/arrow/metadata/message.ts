/** The messages of an Arrow file: a schema, a batch of a dictionary, a batch of rows; and where the buffers of a batch lie. */
import { FlatBuffer, type Table } from './flatbuffer.js'
import type { Field } from './schema.js'

/** Versions of the metadata that are read: V4 and V5, numbered from 0. */
const VERSIONS = [3, 4]

export type MessageKind = 'schema' | 'dictionary' | 'batch' | 'other'
const KINDS: readonly MessageKind[] = ['other', 'schema', 'dictionary', 'batch']

export interface Message {
  kind: MessageKind
  version: number
  header: Table
  bodyBytes: number
}

export function parseMessage(bytes: Uint8Array, file: string, offset: number): Message {
  const buffer = new FlatBuffer(bytes, file, offset)
  const table = buffer.root()
  const version = checkVersion(table.i16(0), buffer)
  const header = table.table(2)
  if (header === undefined) return buffer.fail('a message has no header')
  const bodyBytes = table.i64(3)
  if (bodyBytes < 0) return buffer.fail(`a message has a body of ${bodyBytes} bytes`)
  return { kind: KINDS[table.i8(1)] ?? 'other', version, header, bodyBytes }
}

export function checkVersion(version: number, buffer: FlatBuffer): number {
  if (VERSIONS.includes(version)) return version
  return buffer.fail(
    `it is of version ${version + 1}, and Millrace reads versions 4 and 5 (Arrow 0.8 and later)`,
  )
}

/** `as it is`, LZ4 frames or zstd, for each buffer of a batch. */
export type BatchCodec = 'none' | 'lz4' | 'zstd'

/** A batch: how many values and nulls each node has, and where its buffers lie in the file. */
export interface Batch {
  rows: number
  codec: BatchCodec
  /** By node. */
  lengths: Float64Array
  nulls: Float64Array
  /** The number of the first buffer of each node, and how many views have besides the usual ones. */
  first: Int32Array
  more: Int32Array
  /** By buffer: offset in the file, and bytes. */
  at: Float64Array
  size: Float64Array
}

/** Reads what a message says of a batch of these fields, and checks it. */
export function parseBatch(
  table: Table,
  fields: readonly Field[],
  nodes: number,
  body: { at: number; bytes: number },
): Batch {
  const { buffer } = table
  const rows = table.i64(0)
  const places = table.vector(1, 16)
  if (rows < 0) return buffer.fail(`a batch has ${rows} rows`)
  if (places.count !== nodes) return buffer.fail(`a batch has ${places.count} nodes, and its schema ${nodes}`)
  const lengths = new Float64Array(nodes)
  const nulls = new Float64Array(nodes)
  for (let node = 0; node < nodes; node++) {
    lengths[node] = buffer.i64(places.at + 16 * node)
    nulls[node] = buffer.i64(places.at + 16 * node + 8)
    if (!(lengths[node] >= 0 && nulls[node] <= lengths[node]))
      return buffer.fail(`a batch has a node of ${lengths[node]} values, ${nulls[node]} of them nulls`)
  }
  const { at, size } = buffersOf(table, body)
  const batch: Batch = {
    rows,
    codec: codecOf(table),
    lengths,
    nulls,
    first: new Int32Array(nodes),
    more: new Int32Array(nodes),
    at,
    size,
  }
  new Walk(table, batch).all(fields, rows)
  return batch
}

function buffersOf(table: Table, body: { at: number; bytes: number }): Pick<Batch, 'at' | 'size'> {
  const { buffer } = table
  const places = table.vector(2, 16)
  const at = new Float64Array(places.count)
  const size = new Float64Array(places.count)
  for (let i = 0; i < places.count; i++) {
    const offset = buffer.i64(places.at + 16 * i)
    const bytes = buffer.i64(places.at + 16 * i + 8)
    if (!(offset >= 0 && bytes >= 0 && offset + bytes <= body.bytes))
      return buffer.fail(
        `buffer ${i} of a batch is bytes ${offset} to ${offset + bytes} of a body of ${body.bytes}`,
      )
    at[i] = body.at + offset
    size[i] = bytes
  }
  return { at, size }
}

function codecOf(table: Table): BatchCodec {
  const compression = table.table(3)
  if (compression === undefined) return 'none'
  const codec = (['lz4', 'zstd'] as const)[compression.i8(0)]
  if (codec === undefined || compression.i8(1) !== 0)
    return table.buffer.fail(`a batch is compressed in an unknown way, codec ${compression.i8(0)}`)
  return codec
}

/** Goes through the fields in the order of their nodes and buffers: which buffers are whose, and are they long enough? */
class Walk {
  private buffer = 0
  private views = 0
  private readonly variadic: { at: number; count: number }

  constructor(
    private readonly table: Table,
    private readonly batch: Batch,
  ) {
    this.variadic = table.vector(4, 8)
  }

  all(fields: readonly Field[], rows: number): void {
    for (const field of fields) {
      const length = this.batch.lengths[field.node]
      if (length !== rows)
        this.fail(
          `a batch says that it has ${rows} rows, and its column "${field.name}" has ${length} values`,
        )
      this.field(field, rows, true)
    }
    const { length } = this.batch.at
    if (this.buffer !== length)
      this.fail(`a batch has ${length} buffers, and its schema wants ${this.buffer}`)
  }

  /** A field whose parent has room for so many values. Those of `other` are passed over. */
  private field(field: Field, length: number, checked: boolean): void {
    const { batch } = this
    const { node, form } = field
    batch.first[node] = this.buffer
    this.buffer += field.buffers
    if (form === 'view') {
      if (this.views >= this.variadic.count) this.fail('a batch does not say how many buffers its views have')
      const more = this.table.buffer.i64(this.variadic.at + 8 * this.views++)
      if (!(more >= 0 && this.buffer + more <= batch.at.length))
        this.fail(`a batch has views with ${more} buffers`)
      batch.more[node] = more
      this.buffer += more
    }
    if (this.buffer > batch.at.length)
      this.fail(`a batch has ${batch.at.length} buffers, and its schema wants more`)
    const readable = checked && form !== 'other'
    if (readable) this.check(field, length)
    const inner =
      form === 'array' ? batch.lengths[node] * field.size : form === 'struct' ? batch.lengths[node] : -1
    for (const child of field.children) this.field(child, inner, readable)
  }

  /** `length` is −1 below a list: its offsets say which values it has. */
  private check(field: Field, length: number): void {
    const { lengths, nulls, first, size, codec } = this.batch
    const { node, form, name } = field
    if (length >= 0 && lengths[node] < length)
      this.fail(`the column "${name}" has ${lengths[node]} values where it should have ${length}`)
    if (codec !== 'none') return
    const wanted = bytesOf(field, lengths[node])
    const bits = form === 'none' ? 0 : size[first[node]]
    if (nulls[node] > 0 && form !== 'none' && bits < Math.ceil(lengths[node] / 8))
      this.fail(`the column "${name}" has ${nulls[node]} nulls, and no room for their bits`)
    if (wanted > 0 && size[first[node] + 1] < wanted)
      this.fail(
        `the column "${name}" has ${lengths[node]} values in ${size[first[node] + 1]} bytes, and they take ${wanted}`,
      )
  }

  private fail(problem: string): never {
    return this.table.buffer.fail(problem)
  }
}

/** Bytes that so many values take in the second buffer of a field: values, offsets, bits or views; 0: it has none. */
export function bytesOf({ form, width }: Field, length: number): number {
  if (length === 0) return 0
  switch (form) {
    case 'fixed':
    case 'view':
      return length * width
    case 'bool':
      return Math.ceil(length / 8)
    case 'varying':
    case 'list':
      return (length + 1) * width
    default:
      return 0
  }
}
