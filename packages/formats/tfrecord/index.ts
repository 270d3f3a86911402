/**
 * The index of a TFRecord file (index/of-file.ts says where it lies and how long it is good): where each record begins, and the
 * features that the first records have; of a compressed file also the places from which decompression can begin.
 */

import { createHash } from 'node:crypto'
import { inFile } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { NumberBuilder } from '../../core/source/index/columns.js'
import type { IndexHeader } from '../../core/source/index/file.js'
import {
  type BuiltIndex,
  type FileIndexKind,
  type IndexTools,
  wrongLength,
} from '../../core/source/index/of-file.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import type { ColumnLayout } from '../../core/source/layout.js'
import { readWhole, type StoreOf } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import { type Packed, scanPacked } from '../packed/scan.js'
import { UNIT_COLUMNS } from '../packed/seek-table.js'
import { ExampleReader } from './example.js'
import { FRAME, HEAD, lengthAt } from './record.js'
import { scanRecords, wrongHead } from './scan.js'

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

/**
 * TFRecord files that TensorFlow compressed as a whole, with "GZIP" or "ZLIB". The file itself does not say so: its first bytes are no
 * head of a record, and look like one of the two. Its records are found in what it decompresses to.
 */

type TfrecordCodec = 'gzip' | 'zlib'

/** How a file is compressed; undefined where it is not. */
async function codecOf({ bytes }: DataFile, { read }: IndexTools): Promise<TfrecordCodec | undefined> {
  const head = Buffer.alloc(Math.min(bytes, HEAD))
  if (head.length < 2) return undefined
  await read(head, 0)
  if (head.length === HEAD && lengthAt(head, 0) !== undefined) return undefined
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  const zlib = (head[0] & 15) === 8 && head[0] >> 4 <= 7 && head.readUInt16BE(0) % 31 === 0
  return zlib ? 'zlib' : undefined
}

/** The records of a compressed file, and its first bytes, decompressed. */
interface PackedRecords {
  starts: NumberBuilder
  packed: Packed
  head: Buffer
}

/** `kept`: as many decompressed bytes are kept, from the first on. */
async function scanPackedRecords(
  file: DataFile,
  codec: TfrecordCodec,
  tools: IndexTools,
  kept: number,
): Promise<PackedRecords> {
  const scan = new RecordScan(file.file, codec)
  const head: Uint8Array[] = []
  let left = kept
  const packed = await scanPacked(file, codec, tools, piece => {
    if (left > 0) {
      const part = new Uint8Array(piece.subarray(0, left)) // a copy
      head.push(part)
      left -= part.length
    }
    scan.push(piece)
  })
  return { starts: scan.end(), packed, head: Buffer.concat(head) }
}

/** Finds records in bytes that come piece by piece, in order. */
class RecordScan {
  private readonly starts = new NumberBuilder()
  /** Where the next record begins, and the bytes that came. */
  private next = 0
  private at = 0
  /** A head, of which the first bytes were in an earlier piece. */
  private readonly head = Buffer.alloc(HEAD)
  private held = 0

  constructor(
    private readonly file: string,
    private readonly codec: TfrecordCodec,
  ) {}

  push(piece: Uint8Array): void {
    const end = this.at + piece.length
    while (this.next < end) {
      const from = this.next + this.held - this.at
      const some = piece.subarray(from, from + HEAD - this.held)
      this.head.set(some, this.held)
      this.held += some.length
      if (this.held < HEAD) break
      this.held = 0
      const data = lengthAt(this.head, 0)
      if (data === undefined) throw wrongHead(this.file, this.starts.length, this.next, this.codec)
      this.starts.push(this.next)
      this.next += FRAME + data
    }
    this.at = end
  }

  /** All bytes came. Gives where each record begins, and the end of the last. */
  end(): NumberBuilder {
    if (this.next !== this.at) {
      const record = this.starts.length - (this.held > 0 ? 0 : 1)
      throw inFile(
        this.file,
        `(${this.codec}) ends in the middle of record ${record}, at byte ${this.at} of what it decompresses to: ` +
          'it was not written to its end; write it again',
        { offset: 0 },
      )
    }
    this.starts.push(this.at)
    return this.starts
  }
}

/**
 * The index that DALI's tfrecord2idx leaves beside a file: a line a record, `offset bytes`, framing included. It is used if
 * its records follow one another from the first byte to the last, and the file has the lengths that it tells of at some places.
 * With it a file in a store that is far away need not be walked over.
 */

/** So many records, spread evenly, are compared with the file. */
const COMPARED = 32

/** Where each record begins, and the end of the last; undefined when there is no such index, or none that is right. */
async function readDaliIndex(
  { file, bytes }: { file: string; bytes: number },
  read: ReadAt,
  stores: StoreOf,
  notice?: (text: string) => void,
): Promise<NumberBuilder | undefined> {
  const slash = file.lastIndexOf('/')
  const dot = file.lastIndexOf('.')
  const places = [`${file}.idx`, ...(dot > slash + 1 ? [`${file.slice(0, dot)}.idx`] : [])]
  for (const path of places) {
    try {
      // A line has fewer digits than its record has bytes, but for the smallest records.
      const text = (await readWhole(stores, path, 2 * bytes + 64)).toString('latin1')
      const starts = startsOf(text, bytes)
      await compare(starts, read)
      return starts
    } catch (error) {
      if (isMissing(error)) continue
      notice?.(`${path} is not used, the file is walked over instead: ${(error as Error).message}`)
      return undefined
    }
  }
  return undefined
}

function startsOf(text: string, bytes: number): NumberBuilder {
  const starts = new NumberBuilder()
  let end = 0
  let line = 0
  for (let from = 0; from < text.length; line++) {
    const to = text.indexOf('\n', from) < 0 ? text.length : text.indexOf('\n', from)
    const [, offset, size] = /^(\d{1,15}) (\d{1,15})\r?$/.exec(text.slice(from, to)) ?? []
    if (offset === undefined || Number(offset) !== end || Number(size) < FRAME)
      throw new Error(`line ${line + 1} is not the record at byte ${end}`)
    starts.push(end)
    end += Number(size)
    from = to + 1
  }
  if (end !== bytes) throw new Error(`its records end at byte ${end}, the file at byte ${bytes}`)
  starts.push(end)
  return starts
}

async function compare(starts: NumberBuilder, read: ReadAt): Promise<void> {
  const count = starts.length - 1
  const records = new Set(
    Array.from({ length: Math.min(count, COMPARED) }, (_, i) =>
      Math.floor((i * (count - 1)) / Math.max(1, Math.min(count, COMPARED) - 1)),
    ),
  )
  await Promise.all(
    [...records].map(async record => {
      const head = Buffer.alloc(HEAD)
      const at = starts.at(record)
      await read(head, at)
      if (lengthAt(head, 0) !== starts.at(record + 1) - at - FRAME)
        throw new Error(`at byte ${at} the file has no record of that length`)
    }),
  )
}
