/**
 * The index of one Arrow file (index/of-file.ts says where it lies and how long it is good): its units, where large values lie,
 * values of small columns, and the entries of its dictionaries. The schema is kept as it stands in the file.
 */

import { createHash } from 'node:crypto'
import { inFile } from '../../../core/basics/errors.js'
import type { DataFile } from '../../../core/source/find/data-files.js'
import type { ColumnBuilder, NumberBuilder } from '../../../core/source/index/columns.js'
import { IndexFile, type IndexHeader } from '../../../core/source/index/file.js'
import {
  type BuiltIndex,
  type FileIndexKind,
  type IndexTools,
  wrongLength,
} from '../../../core/source/index/of-file.js'
import type { IndexFound } from '../../../core/source/index/place.js'
import { buffered } from '../../../core/source/index/read-at.js'
import type { OpenContext } from '../../../core/source/source.js'
import type { Stores } from '../../../core/store/stores.js'
import { obtainFileIndexes } from '../../shared/index-of-files.js'
import { type ArrowColumn, columnsOf, fieldsFor } from '../columns.js'
import { type Batch, type Message, parseBatch } from '../metadata/message.js'
import { type ArrowForm, scanArrow } from '../metadata/scan.js'
import { isSchema, type Schema } from '../metadata/schema.js'
import type { UnitColumns } from '../units.js'
import { Dictionaries, type DictionarySpans } from './dictionaries.js'
import { DirectBuilder, isDirect } from './direct.js'
import { smallColumns, smallValues } from './small.js'
import { UnitBuilder } from './unit-builder.js'

/** Places of a local file that are compared where its inode changed. */
const PROBED = 32
/** Rows of a batch: offsets of lists are no larger, and a file that says more of nulls is made to do harm. */
const MOST_ROWS = 2 ** 31

/** What the header of an index tells besides the units. */
export interface ArrowMeta {
  form: ArrowForm
  schema: Schema
  /** Of names, types, counts and sizes. */
  digest: string
  batches: number
  codecs: string[]
  /** By column: how many of its values are null. */
  nulls: Record<string, number>
}

export interface ArrowIndex extends IndexFound {
  meta: ArrowMeta
}

const FILE: FileIndexKind<DataFile> = { kind: 'arrow', what: 'file', malformed, build }

export async function obtainArrowIndexes(
  files: readonly DataFile[],
  context: OpenContext,
  stores: Stores,
): Promise<ArrowIndex[]> {
  const found = await obtainFileIndexes(FILE, files, context, stores, 'indexing Arrow files')
  return found.map(index => ({ ...index, meta: index.header.meta as unknown as ArrowMeta }))
}

const BY_UNIT: (keyof UnitColumns)[] = ['codec', 'sliced']
const BY_NODE: (keyof UnitColumns)[] = ['length', 'nulls', 'bit', 'first', 'more']
const BY_BUFFER: (keyof UnitColumns)[] = ['offset', 'size', 'raw']

function malformed(header: IndexHeader): string | undefined {
  const { columns, count, meta } = header
  const { schema, digest, nulls, codecs } = meta as Partial<ArrowMeta>
  if (typeof digest !== 'string' || !isSchema(schema) || !nulls || !Array.isArray(codecs))
    return 'it is malformed: what it tells of its columns'
  const units = columns.start?.length - 1
  const buffers = columns.offset?.length
  const lengths: [string, number | undefined][] = [
    ...BY_UNIT.map((name): [string, number] => [name, units]),
    ...BY_NODE.map((name): [string, number] => [name, units * schema.nodes]),
    ...BY_BUFFER.map((name): [string, number] => [name, buffers]),
    ['probes', columns.probes?.length],
  ]
  for (const name of Object.keys(columns)) {
    const dot = name.indexOf('.')
    if (dot < 0) continue
    const [kind, rest] = [name.slice(0, dot), name.slice(dot + 1)]
    if (['at', 'bytes', 'value'].includes(kind) || kind.startsWith('dim')) lengths.push([name, count])
    if (kind === 'from' || kind === 'to') lengths.push([name, units])
    if (kind === 'null') lengths.push([name, columns[`entry.${rest}`]?.length])
  }
  return wrongLength(header, lengths)
}

/** What is read of a file in a first pass. */
interface Scanned {
  form: ArrowForm
  schema: Schema
  batches: Batch[]
  spans: DictionarySpans[]
  dictionaries: Dictionaries
}

async function build(
  file: DataFile,
  { read: plain, piece, local, progress }: IndexTools,
): Promise<BuiltIndex> {
  const read = local ? plain : buffered(plain, piece)
  const scanned = await scan(file, read, progress)
  const { schema, batches, spans, dictionaries, form } = scanned
  const { columns } = columnsOf(schema)
  const direct = columns.filter(column => isDirect(column, batches))
  const rest = columns.filter(column => !direct.includes(column))
  const needed = new Set(rest.flatMap(fieldsFor).map(({ node }) => node))
  const units = new UnitBuilder(file.file, read, schema.fields, needed)
  const places = direct.map(column => new DirectBuilder(column, file.file, read))
  for (const [i, batch] of batches.entries()) {
    const before = units.count
    await units.add(batch)
    dictionaries.note(spans[i], units.count - before)
    for (const builder of places) await builder.add(batch)
  }
  units.finish()
  const built: Record<string, ColumnBuilder> = { start: units.start, ...units.columns }
  direct.forEach(({ name }, i) => {
    built[`at.${name}`] = places[i].at
    built[`bytes.${name}`] = places[i].size
    places[i].dims.forEach((dim, k) => {
      built[`dim${k}.${name}`] = dim
    })
  })
  for (const { id, entries, nulls, from, to } of dictionaries.all)
    Object.assign(built, {
      [`entry.${id}`]: entries,
      [`null.${id}`]: nulls,
      [`from.${id}`]: from,
      [`to.${id}`]: to,
    })
  const small = smallColumns(rest, schema, units.rows, file.bytes)
  const values = await smallValues(small, { read, units, schema, dictionaries })
  for (const [name, column] of values) built[`value.${name}`] = column
  const meta = { ...metaOf(scanned, columns, units.rows, file), form, schema }
  return { count: units.rows, columns: built, meta, probes: probesOf(units.columns.offset, file.bytes) }
}

async function scan(
  { file, bytes }: DataFile,
  read: IndexTools['read'],
  progress?: (bytes: number) => void,
): Promise<Scanned> {
  const dictionaries = new Dictionaries(file, read)
  const batches: Batch[] = []
  const spans: DictionarySpans[] = []
  let schema: Schema | undefined
  const add = ({ header, bodyBytes }: Message, at: number): void => {
    const batch = parseBatch(header, schema!.fields, schema!.nodes, { at, bytes: bodyBytes })
    if (batch.rows === 0) return
    if (batch.rows > MOST_ROWS) header.buffer.fail(`a batch has ${batch.rows} rows: write smaller ones`)
    batches.push(batch)
    spans.push(dictionaries.now())
  }
  const form = await scanArrow(
    read,
    bytes,
    file,
    {
      schema: found => {
        schema = found
        dictionaries.begin(found)
      },
      dictionary: (message, at) => dictionaries.add(message, at),
      batch: add,
    },
    progress,
  )
  return { form, schema: schema as Schema, batches, spans, dictionaries }
}

function metaOf(
  { schema, batches }: Scanned,
  columns: readonly ArrowColumn[],
  rows: number,
  { name, bytes }: DataFile,
): Omit<ArrowMeta, 'form' | 'schema'> {
  const types = schema.fields.map(field => [field.name, field.type])
  // Where a struct is null, so is all that lies in it, whether or not it says so itself.
  const nulls = columns.map(({ name, field, within }): [string, number] => {
    const nodes = [field, ...within].map(({ node }) => node)
    return [
      name,
      batches.reduce((sum, batch) => sum + Math.max(0, ...nodes.map(node => batch.nulls[node])), 0),
    ]
  })
  const digest = createHash('sha256')
    .update(JSON.stringify([types, rows, bytes, batches.length]))
    .digest('hex')
    .slice(0, 32)
  if (rows > Number.MAX_SAFE_INTEGER) throw inFile(name, `says that it has ${rows} rows`)
  const codecs = [...new Set(batches.map(({ codec }) => codec))].filter(codec => codec !== 'none')
  return { digest, batches: batches.length, codecs, nulls: Object.fromEntries(nulls) }
}

/** The beginning of the file, and of some buffers, evenly chosen. */
function probesOf(offsets: NumberBuilder, bytes: number): number[] {
  const places = new Set([0])
  const step = Math.max(1, offsets.length / PROBED)
  for (let i = 0; i < offsets.length; i += step) places.add(Math.min(offsets.at(Math.floor(i)), bytes))
  return [...places]
}

/** The index of a file, to look at. */
export function openIndex({ path, header }: IndexFound): IndexFile {
  return new IndexFile(path, false, header)
}
