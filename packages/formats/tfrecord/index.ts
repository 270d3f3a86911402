/**
 * The index of a TFRecord file (index/of-file.ts says where it lies and how long it is good): where each record begins, and the
 * features that the first records have; of a compressed file also the places from which decompression can begin.
 */
import { createHash } from 'node:crypto'
import type { DataFile } from '../../core/source/find/data-files.js'
import type { NumberBuilder } from '../../core/source/index/columns.js'
import type { IndexHeader } from '../../core/source/index/file.js'
import {
  type BuiltIndex,
  type FileIndexKind,
  type IndexTools,
  wrongLength,
} from '../../core/source/index/of-file.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import type { ColumnLayout } from '../../core/source/layout.js'
import { UNIT_COLUMNS } from '../packed/seek-table.js'
import { readDaliIndex } from './dali.js'
import { ExampleReader } from './example.js'
import { codecOf, scanPackedRecords, type TfrecordCodec } from './packed.js'
import { FRAME, HEAD } from './record.js'
import { scanRecords } from './scan.js'

/** As many records, spread evenly, have probes. */
const PROBED = 32
/** Records that are looked at for the names of features, and their bytes in all. */
const LOOKED_AT = { records: 16, bytes: 16 << 20 }

export interface TfrecordMeta {
  /** Of the records' lengths. */
  digest: string
  /** Features of the first records; none where they are no tf.Example. */
  schema: ColumnLayout[]
  /** How the file is compressed as a whole. */
  codec?: TfrecordCodec
}

export const TFRECORD_INDEX: FileIndexKind<DataFile> = {
  kind: 'tfrecord',
  what: 'file',
  malformed,
  build,
}

function malformed(header: IndexHeader): string | undefined {
  const { count, columns, meta } = header
  const { digest, schema, codec } = meta as Partial<TfrecordMeta>
  const isColumn = (column: Partial<ColumnLayout> | null): boolean =>
    typeof column?.name === 'string' && typeof column.type === 'string'
  if (typeof digest !== 'string' || !Array.isArray(schema) || !schema.every(isColumn))
    return 'it is malformed: what it tells of its records'
  return wrongLength(header, [
    ['start', count + 1],
    ['probes', columns.probes?.length],
    ...(codec === undefined ? [] : UNIT_COLUMNS.map(name => [name, columns['unit.row']?.length] as const)),
  ])
}

async function build(data: DataFile, tools: IndexTools): Promise<BuiltIndex> {
  const codec = await codecOf(data, tools)
  return codec === undefined ? buildPlain(data, tools) : buildPacked(data, codec, tools)
}

async function buildPlain(data: DataFile, tools: IndexTools): Promise<BuiltIndex> {
  const { read, stores, piece, check, notice, progress } = tools
  const { file, bytes } = data
  const starts =
    (check === 'nothing' ? undefined : await readDaliIndex(data, read, stores, notice)) ??
    (await scanRecords(read, bytes, file, piece, progress))
  const count = starts.length - 1
  const probes = Array.from({ length: Math.min(PROBED, count) }, (_, i) =>
    starts.at(Math.floor((i * count) / Math.min(PROBED, count))),
  )
  return { count, meta: { ...(await metaOf(starts, read)) }, columns: { start: starts }, probes }
}

async function buildPacked(data: DataFile, codec: TfrecordCodec, tools: IndexTools): Promise<BuiltIndex> {
  const { starts, packed, head } = await scanPackedRecords(data, codec, tools, LOOKED_AT.bytes)
  const meta = await metaOf(starts, async (into, at) => head.copy(into, 0, at))
  const probes = Array.from({ length: PROBED }, (_, i) => Math.floor((data.bytes * i) / PROBED))
  return {
    count: starts.length - 1,
    meta: { ...meta, codec },
    columns: { start: starts, ...packed.table.columns(starts, data.bytes) },
    probes: [...new Set(probes)],
  }
}

async function metaOf(starts: NumberBuilder, read: ReadAt): Promise<TfrecordMeta> {
  const digest = createHash('sha256')
  for (const part of starts.pieces('f64')) digest.update(part)
  return { digest: digest.digest('hex').slice(0, 32), schema: await firstFeatures(starts, read) }
}

/** Features of the first records. What is no tf.Example has none: its records are bytes. */
async function firstFeatures(starts: NumberBuilder, read: ReadAt): Promise<ColumnLayout[]> {
  let records = Math.min(starts.length - 1, LOOKED_AT.records)
  while (records > 0 && starts.at(records) > LOOKED_AT.bytes) records--
  if (records === 0) return []
  const bytes = Buffer.allocUnsafeSlow(starts.at(records))
  await read(bytes, 0)
  const reader = new ExampleReader()
  const found = new Map<string, ColumnLayout>()
  for (let i = 0; i < records; i++) {
    try {
      const at = starts.at(i)
      const data = bytes.subarray(at + HEAD, starts.at(i + 1) - FRAME + HEAD)
      for (const column of reader.schema(data)) {
        const before = found.get(column.name)
        found.set(column.name, before === undefined ? column : either(before, column))
      }
    } catch {
      return []
    }
  }
  return [...found.values()]
}

/** A feature that two records have: of lists of different lengths the kind is told. */
function either(a: ColumnLayout, b: ColumnLayout): ColumnLayout {
  if (a.type === b.type) return a
  const kinds = new Set([a.type, b.type].map(type => type.split(' ')[0]))
  return { name: a.name, type: kinds.size === 1 ? `${[...kinds][0]} [n]` : [...kinds].join(' or ') }
}
