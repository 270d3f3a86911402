/**
 * Reads the footer of a file: its schema, and for each row group and leaf where the column chunk lies. Row groups become
 * columns of numbers at once: a thousand files with a thousand row groups each are no objects.
 */
import { DecodeError, inFile, SourceError } from '../../../core/basics/errors.js'
import { NumberBuilder } from '../../../core/source/index/columns.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { CODECS, DECOMPRESSED } from '../names.js'
import { leavesOf, type ParquetLeaf, readSchema } from './schema.js'
import { Thrift } from './thrift.js'

/** Read from the end at once: most footers fit. In bytes. */
const FIRST_READ = 65536
/** A footer may have this many bytes: some 250,000 column chunks. */
const MOST_FOOTER = 512 << 20
/** Length and magic at the end of the file, magic at its beginning. */
const TAIL = 8
const HEAD = 4

/** What the column chunks have, each a column with a number for each (row group, leaf). */
const CHUNK_COLUMNS = [
  'start', // the first byte of its first page, which may be a dictionary
  'length', // bytes in the file
  'raw', // bytes of its pages, decompressed
  'values', // values, nulls included
  'codec', // the codec's number
  'encodings', // a bit for each encoding that it has
  'text', // bytes of all its texts, where they are measured (measure.ts), else 0
  'pagesAt', // where its offset index lies, or 0
  'pagesLength',
  'boundsAt', // where the index of its pages' least and greatest values lies, or 0
  'boundsLength',
] as const

export type ChunkColumns = Record<(typeof CHUNK_COLUMNS)[number], NumberBuilder>

export interface Footer {
  leaves: ParquetLeaf[]
  rows: number
  /** Rows of each row group. */
  groupRows: NumberBuilder
  /** Row groups without rows, which are left out. */
  emptyGroups: number
  chunks: ChunkColumns
  /** Nulls of each leaf; below 0 where the file does not say. */
  nulls: number[]
  createdBy: string
  /** What Hugging Face's datasets say of the columns, as JSON; empty where they do not. */
  huggingFace: string
  /** Bytes of row groups, decompressed. */
  groupBytes: NumberBuilder
}

/** The least and the greatest value of a chunk, as the file writes them; `nulls` is below 0 where unknown. */
export type OnStatistics = (
  group: number,
  leaf: number,
  found: { min?: Uint8Array; max?: Uint8Array; nulls: number },
) => void

/** The bytes of the footer. `read` fills a buffer from an offset on. */
export async function readFooterBytes(read: ReadAt, bytes: number, file: string): Promise<Uint8Array> {
  if (bytes < HEAD + TAIL) throw noParquet(file, `it has ${bytes} bytes`)
  let tail = Buffer.allocUnsafeSlow(Math.min(bytes, FIRST_READ))
  await read(tail, bytes - tail.length)
  const magic = tail.toString('latin1', tail.length - 4)
  if (magic === 'PARE')
    throw inFile(file, 'is encrypted: Millrace reads no encrypted Parquet; write it again without')
  if (magic !== 'PAR1') throw noParquet(file, `it ends with ${JSON.stringify(magic)}, not with "PAR1"`)
  const length = tail.readUInt32LE(tail.length - TAIL)
  if (length > bytes - HEAD - TAIL || length > MOST_FOOTER)
    throw noParquet(file, `its footer would have ${length} of ${bytes} bytes`)
  if (length + TAIL > tail.length) {
    tail = Buffer.allocUnsafeSlow(length + TAIL)
    await read(tail, bytes - tail.length)
  }
  return tail.subarray(tail.length - TAIL - length, tail.length - TAIL)
}

function noParquet(file: string, why: string): SourceError {
  return inFile(file, `is no Parquet file: ${why}: name another file, or copy it again`)
}

/** Parses the footer of a file that has `bytes` bytes. */
export function parseFooter(
  footer: Uint8Array,
  bytes: number,
  file: string,
  reported?: OnStatistics,
): Footer {
  try {
    return new FooterParser(footer, bytes, reported).parse()
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof SourceError)) throw error
    const offset = bytes - TAIL - footer.length
    throw inFile(
      file,
      `: its footer, at byte ${offset}, can't be used: ${error.message}: write the file again`,
      { offset, cause: error },
    )
  }
}

class FooterParser {
  private readonly thrift: Thrift
  private readonly groupRows = new NumberBuilder()
  private readonly groupBytes = new NumberBuilder()
  private readonly chunks = Object.fromEntries(
    CHUNK_COLUMNS.map(name => [name, new NumberBuilder()]),
  ) as ChunkColumns
  private leaves: ParquetLeaf[] = []
  private nulls: number[] = []
  private rows = 0
  private emptyGroups = 0

  constructor(
    footer: Uint8Array,
    private readonly bytes: number,
    private readonly reported?: OnStatistics,
  ) {
    this.thrift = new Thrift(footer)
  }

  parse(): Footer {
    const { thrift } = this
    let total = -1
    let createdBy = ''
    let huggingFace = ''
    const outer = thrift.enter()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 2) {
        this.leaves = leavesOf(readSchema(thrift))
        this.nulls = this.leaves.map(() => 0)
      } else if (id === 3) total = thrift.count()
      else if (id === 4) this.readGroups()
      else if (id === 5) huggingFace = this.readMetadata()
      else if (id === 6) createdBy = thrift.text()
      else if (id === 8) throw new SourceError('the file is encrypted')
      else thrift.skip()
    }
    thrift.leave(outer)
    if (this.leaves.length === 0) throw new SourceError('it has no columns')
    if (total !== this.rows)
      throw new SourceError(`it says ${total} rows, and its row groups have ${this.rows}`)
    const { leaves, rows, groupRows, groupBytes, emptyGroups, chunks, nulls } = this
    return { leaves, rows, groupRows, groupBytes, emptyGroups, chunks, nulls, createdBy, huggingFace }
  }

  /** Of the texts that programs leave in a file, the one that Hugging Face's datasets do. */
  private readMetadata(): string {
    const { thrift } = this
    const count = thrift.list()
    let found = ''
    for (let i = 0; i < count; i++) {
      let [key, value] = ['', '']
      const outer = thrift.enter()
      for (let id = thrift.field(); id !== 0; id = thrift.field()) {
        if (id === 1) key = thrift.text()
        else if (id === 2 && key === 'huggingface') value = thrift.text()
        else thrift.skip()
      }
      thrift.leave(outer)
      if (key === 'huggingface') found = value
    }
    return found
  }

  private readGroups(): void {
    const { thrift, leaves } = this
    const count = thrift.list()
    for (let group = 0; group < count; group++) {
      let rows = -1
      let columns = -1
      const first = this.chunks.raw.length
      const outer = thrift.enter()
      for (let id = thrift.field(); id !== 0; id = thrift.field()) {
        if (id === 1) {
          columns = thrift.list()
          if (columns !== leaves.length)
            throw new SourceError(`row group ${group} has ${columns} columns, the schema ${leaves.length}`)
          for (let leaf = 0; leaf < columns; leaf++) this.readChunk(group, leaf)
        } else if (id === 3) rows = thrift.count()
        else thrift.skip()
      }
      thrift.leave(outer)
      if (columns < 0 || rows < 0)
        throw new SourceError(`row group ${group} has no columns, or no count of rows`)
      if (rows === 0) {
        // A unit has rows: one without is left out.
        this.emptyGroups++
        for (const name of CHUNK_COLUMNS) this.chunks[name].length = first
        continue
      }
      this.groupRows.push(rows)
      this.rows += rows
      this.checkGroup(group, rows, first)
    }
  }

  /** What is stored of a group must be possible: counts that lie would ask for memory. */
  private checkGroup(group: number, rows: number, first: number): void {
    let bytes = 0
    this.leaves.forEach(({ name, repetition }, leaf) => {
      const { values, raw } = this.chunks
      const count = values.at(first + leaf)
      if (repetition === 0 ? count !== rows : count < rows)
        throw new SourceError(
          `column "${name}" of row group ${group} has ${count} values, and the group ${rows} rows`,
        )
      bytes += raw.at(first + leaf)
    })
    this.groupBytes.push(bytes)
  }

  private readChunk(group: number, leaf: number): void {
    const { thrift } = this
    let found = false
    let [pagesAt, pagesLength, boundsAt, boundsLength] = [0, 0, 0, 0]
    const outer = thrift.enter()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 1)
        throw new SourceError(`its column chunks lie in another file, "${thrift.text()}", which is not read`)
      if (id === 3) {
        this.readMeta(group, leaf)
        found = true
      } else if (id === 4) pagesAt = thrift.count()
      else if (id === 5) pagesLength = thrift.count()
      else if (id === 6) boundsAt = thrift.count()
      else if (id === 7) boundsLength = thrift.count()
      else if (id === 8) throw new SourceError(`column "${this.leaves[leaf].name}" is encrypted`)
      else thrift.skip()
    }
    thrift.leave(outer)
    if (!found)
      throw new SourceError(`column "${this.leaves[leaf].name}" of row group ${group} is not described`)
    const isThere = (at: number, length: number): boolean => length > 0 && at + length <= this.bytes
    const [pages, bounds] = [isThere(pagesAt, pagesLength), isThere(boundsAt, boundsLength)]
    this.chunks.pagesAt.push(pages ? pagesAt : 0)
    this.chunks.pagesLength.push(pages ? pagesLength : 0)
    this.chunks.boundsAt.push(bounds ? boundsAt : 0)
    this.chunks.boundsLength.push(bounds ? boundsLength : 0)
  }

  private readMeta(group: number, leaf: number): void {
    const { thrift, chunks } = this
    let [values, raw, length, data, dictionary, codec, encodings, nulls] = [0, 0, 0, 0, 0, 0, 0, -1]
    const outer = thrift.struct()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 2) encodings = this.readEncodings()
      else if (id === 4) codec = thrift.count()
      else if (id === 5) values = thrift.count()
      else if (id === 6) raw = thrift.count()
      else if (id === 7) length = thrift.count()
      else if (id === 9) data = thrift.count()
      else if (id === 11) dictionary = thrift.count()
      else if (id === 12) nulls = this.readStatistics(group, leaf)
      else thrift.skip()
    }
    thrift.leave(outer)
    const { name } = this.leaves[leaf]
    const start = dictionary > 0 && dictionary < data ? dictionary : data
    if (values > 0 && (start + length > this.bytes || start < HEAD))
      throw new SourceError(
        `column "${name}" of row group ${group} lies at byte ${start}, ${length} bytes, and the file has ${this.bytes}`,
      )
    if (DECOMPRESSED[codec] === undefined)
      throw new SourceError(
        `column "${name}" is compressed by ${CODECS[codec] ?? `codec ${codec}`}, which is not read: use zstd`,
      )
    chunks.start.push(start)
    chunks.length.push(length)
    chunks.raw.push(raw)
    chunks.values.push(values)
    chunks.codec.push(codec)
    chunks.encodings.push(encodings)
    chunks.text.push(0)
    this.nulls[leaf] = nulls < 0 || this.nulls[leaf] < 0 ? -1 : this.nulls[leaf] + nulls
  }

  private readEncodings(): number {
    const { thrift } = this
    const count = thrift.list()
    let bits = 0
    for (let i = 0; i < count; i++) bits |= 1 << (thrift.count() & 31)
    return bits >>> 0
  }

  /** The count of nulls. Least and greatest values are told where they are asked for, and else not looked at. */
  private readStatistics(group: number, leaf: number): number {
    const { thrift, reported } = this
    let nulls = -1
    let min: Uint8Array | undefined
    let max: Uint8Array | undefined
    const outer = thrift.struct()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 3) nulls = thrift.count()
      else if (id === 5 && reported !== undefined) max = thrift.binary()
      else if (id === 6 && reported !== undefined) min = thrift.binary()
      else thrift.skip()
    }
    thrift.leave(outer)
    reported?.(group, leaf, { min, max, nulls })
    return nulls
  }
}
