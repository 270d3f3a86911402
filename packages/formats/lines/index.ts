/**
 * The index of one text file: where each row begins, and what the first rows tell of the columns. It is made by one pass over
 * the bytes. Of a compressed file it also has the places from which decompression can begin (packed/seek-table.ts).
 */

import { createHash } from 'node:crypto'
import { inFile, type SourceError } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import type { ColumnBuilder } from '../../core/source/index/columns.js'
import type { IndexHeader } from '../../core/source/index/file.js'
import {
  type BuiltIndex,
  type FileIndexKind,
  type IndexTools,
  wrongLength,
} from '../../core/source/index/of-file.js'
import { refuseForeign, TELLING } from '../foreign.js'
import { type Packed, scanPacked } from '../packed/scan.js'
import { UNIT_COLUMNS } from '../packed/seek-table.js'
import type { PackedCodec } from '../packed/units.js'
import { csvColumns, type HeadColumn } from './csv/columns.js'
import { jsonColumns } from './json/types.js'
import { LineScan, type RowRule } from './line-scan.js'

/** Bytes at the beginning that the columns are looked for in, and as many rows. A first row may be longer than that. */
const HEAD_BYTES = 1 << 20
const LONGEST_FIRST = 64 << 20
const HEAD_ROWS = 1000
/** So many rows are taken from any file; more of them only if it has a byte for every hundred. */
const SURE_ROWS = 16 << 20
const MOST_ROWS = 100
/** Places of a file, spread evenly, that are compared where a file may be a copy. */
const PROBED = 32

/** What decides which rows a file has. */
export interface RowRules {
  format: 'jsonl' | 'csv' | 'text'
  rule: RowRule
  /** CSV: the byte between cells, and whether the first record is a header. */
  delimiter?: number
  header?: boolean
}

export interface LinesMeta {
  /** The rules by which it was made. */
  rules: string
  /** Of the offsets of rows. */
  digest: string
  /** Bytes of text. */
  bytes: number
  columns: HeadColumn[]
  /** JSON lines: the first rows were looked at, and none has a key. */
  noKeys?: boolean
  codec?: PackedCodec
}

/** How files of these rules are indexed. */
export function linesIndex(rules: RowRules): FileIndexKind<DataFile> {
  return {
    kind: 'lines',
    what: 'file',
    malformed: header => malformed(header, rules),
    build: (file, tools) => build(file, tools, rules),
  }
}

function malformed(header: IndexHeader, rules: RowRules): string | undefined {
  const { columns, digest, bytes, rules: was, codec } = header.meta as Partial<LinesMeta>
  const right = Array.isArray(columns) && columns.every(column => typeof column?.name === 'string')
  if (!right || typeof digest !== 'string' || typeof bytes !== 'number')
    return 'it is malformed: what it tells of its rows'
  if (was !== rulesText(rules)) return 'it was made to be read in another way'
  return wrongLength(header, [
    ['start', header.count + 1],
    ...(header.columns.line === undefined ? [] : [['line', header.count] as const]),
    ...(codec === undefined
      ? []
      : UNIT_COLUMNS.map(name => [name, header.columns['unit.row']?.length] as const)),
  ])
}

function rulesText({ format, rule, delimiter, header }: RowRules): string {
  return [format, rule, delimiter, header].filter(part => part !== undefined).join(' ')
}

async function build(file: DataFile, tools: IndexTools, rules: RowRules): Promise<BuiltIndex> {
  const scan = new LineScan(file.file, rules.rule, rules.delimiter, rules.header)
  const head: Uint8Array[] = []
  let kept = 0
  const compressed = await eachPiece(file, tools, piece => {
    const most = scan.count === 0 ? LONGEST_FIRST : HEAD_BYTES
    if (kept < most) {
      const part = new Uint8Array(piece.subarray(0, most - kept)) // a copy
      head.push(part)
      kept += part.length
    }
    scan.push(piece)
    if (scan.count > SURE_ROWS && scan.count > MOST_ROWS * file.bytes) throw tooManyRows(file, scan.count)
  })
  scan.end()
  const hash = createHash('sha256')
  for (const piece of scan.starts.pieces()) hash.update(piece)
  const columns = headColumns(file.file, rules, scan, Buffer.concat(head))
  const looked = rules.format === 'jsonl' && scan.count > 1 && scan.starts.at(1) <= kept
  const meta: LinesMeta = {
    rules: rulesText(rules),
    digest: hash.digest('hex').slice(0, 32),
    bytes: scan.at,
    ...(compressed && { codec: compressed.codec }),
    ...(looked && columns.length === 0 && { noKeys: true }),
    columns,
  }
  const tables: Record<string, ColumnBuilder> = { start: scan.starts }
  if (!scan.plain) tables.line = scan.lines
  if (compressed !== undefined) Object.assign(tables, compressed.table.columns(scan.starts, file.bytes))
  const probes = Array.from({ length: PROBED }, (_, i) => Math.floor((file.bytes * i) / PROBED))
  return { count: scan.count - 1, meta: { ...meta }, columns: tables, probes: [...new Set(probes)] }
}

/** A few kilobytes of gzip may stand for hundreds of millions of empty lines, whose index would take gigabytes. */
function tooManyRows({ file, bytes }: DataFile, rows: number): SourceError {
  return inFile(
    file,
    `of ${bytes} bytes has more than ${rows} rows: it seems to be made to do harm. If it is meant so, decompress it`,
    { offset: 0 },
  )
}

function headColumns(file: string, rules: RowRules, scan: LineScan, head: Buffer): HeadColumn[] {
  if (rules.format === 'text') return []
  const rows: Uint8Array[] = []
  for (let row = 0; row < Math.min(scan.count - 1, HEAD_ROWS); row++) {
    const end = scan.starts.at(row + 1)
    if (end > (row === 0 ? head.length : HEAD_BYTES)) break
    rows.push(head.subarray(scan.starts.at(row), end))
  }
  if (rules.format === 'jsonl') return jsonColumns(rows)
  const { header } = scan
  if (rules.header && (header === undefined || header[1] > head.length)) {
    const problem = header === undefined ? 'is empty' : 'begins with a very long line'
    throw inFile(
      file,
      `${problem}: CSV begins with a line of names; where it has none, say {"csv": {"path": …, "header": false}}`,
      { offset: 0 },
    )
  }
  return csvColumns(file, header && head.subarray(...header), rows, rules.delimiter as number)
}

/** Bytes that are read at a time: sequential speed on any disk. */
const PIECE = 4 << 20
/** The first four bytes of a frame of zstd that holds something else. */
const SKIPPABLE = 0x184d2a50

/** A piece is valid during the call only. What a file is, its first bytes tell, not its name. */
async function eachPiece(
  file: DataFile,
  tools: IndexTools,
  found: (piece: Uint8Array) => void,
): Promise<Packed | undefined> {
  const codec = await codecOf(file, tools)
  if (codec !== undefined) return scanPacked(file, codec, tools, found)
  await readPieces(file, tools, found)
  return undefined
}

async function codecOf({ file, bytes }: DataFile, { read }: IndexTools): Promise<PackedCodec | undefined> {
  if (bytes < 4) return undefined
  const head = Buffer.alloc(Math.min(bytes, TELLING))
  await read(head, 0)
  refuseForeign(file, head)
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  const magic = head.readUInt32LE(0)
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) === SKIPPABLE ? 'zstd' : undefined
}

/** The bytes as they lie in the file. The next piece is read while `found` works on one. */
async function readPieces(
  { bytes }: DataFile,
  { read, piece, progress }: IndexTools,
  found: (piece: Uint8Array) => void,
): Promise<void> {
  const size = Math.max(1, Math.min(bytes, Math.max(PIECE, piece)))
  let [here, there] = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)]
  const fetch = (into: Buffer, at: number): Promise<number> =>
    at < bytes ? read(into.subarray(0, Math.min(size, bytes - at)), at) : Promise.resolve(0)
  let pending = fetch(here, 0)
  for (let at = 0; at < bytes; ) {
    const got = await pending
    at += got
    pending = fetch(there, at)
    try {
      found(here.subarray(0, got))
    } catch (error) {
      await pending.catch(() => undefined) // no read goes on behind an error
      throw error
    }
    progress?.(at)
    ;[here, there] = [there, here]
  }
}
