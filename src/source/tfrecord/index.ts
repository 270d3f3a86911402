/**
 * The index of a TFRecord file (index/of-file.ts says where it lies and how long it is good): where each record begins, and the
 * features that the first records have.
 */
import { createHash } from 'node:crypto'
import type { DataFile } from '../find/data-files.js'
import type { NumberBuilder } from '../index/columns.js'
import type { IndexHeader } from '../index/file.js'
import { type BuiltIndex, type FileIndexKind, type IndexTools, wrongLength } from '../index/of-file.js'
import type { ReadAt } from '../index/read-at.js'
import type { ColumnLayout } from '../layout.js'
import { readDaliIndex } from './dali.js'
import { ExampleReader } from './example.js'
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
}

export const TFRECORD_INDEX: FileIndexKind<DataFile> = {
  kind: 'tfrecord',
  what: 'file',
  malformed,
  build,
}

function malformed(header: IndexHeader): string | undefined {
  const { count, columns, meta } = header
  const { digest, schema } = meta as Partial<TfrecordMeta>
  const isColumn = (column: Partial<ColumnLayout> | null): boolean =>
    typeof column?.name === 'string' && typeof column.type === 'string'
  if (typeof digest !== 'string' || !Array.isArray(schema) || !schema.every(isColumn))
    return 'it is malformed: what it tells of its records'
  return wrongLength(header, [
    ['start', count + 1],
    ['probes', columns.probes?.length],
  ])
}

async function build(
  data: DataFile,
  { read, stores, piece, check, notice, progress }: IndexTools,
): Promise<BuiltIndex> {
  const { file, bytes } = data
  const starts =
    (check === 'nothing' ? undefined : await readDaliIndex(data, read, stores, notice)) ??
    (await scanRecords(read, bytes, file, piece, progress))
  const count = starts.length - 1
  const digest = createHash('sha256')
  for (const part of starts.pieces('f64')) digest.update(part)
  const meta: TfrecordMeta = {
    digest: digest.digest('hex').slice(0, 32),
    schema: await firstFeatures(starts, read),
  }
  const probes = Array.from({ length: Math.min(PROBED, count) }, (_, i) =>
    starts.at(Math.floor((i * count) / Math.min(PROBED, count))),
  )
  return { count, meta: { ...meta }, columns: { start: starts }, probes }
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
