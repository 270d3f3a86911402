/** Finds files of marks, and tells where each record lies: u8 for the label, then 7 bytes. */
import { createHash } from 'node:crypto'
import { SourceError } from '../../../packages/core/basics/errors.js'
import { findDataFiles } from '../../../packages/core/source/find/data-files.js'
import type {
  Column,
  Manifest,
  Need,
  OpenContext,
  Pieces,
  Source,
  SourceKind,
} from '../../../packages/core/source/source.js'
import { Stores } from '../../../packages/core/store/stores.js'
import { FileRows } from '../../../packages/formats/shared/file-rows.js'
import type { MarksJson } from './format.js'

const HEAD = 4
const RECORD = 8

type Files = { file: string; name: string; count: number; first: number }[]

async function openMarks(json: MarksJson, context: OpenContext): Promise<Manifest> {
  const { path, skip = 0 } = typeof json === 'object' && !Array.isArray(json) ? json : { path: json }
  using stores = new Stores()
  const found = await findDataFiles(path, context.root, stores, { source: 'marks', what: 'file' })
  const files: Files = found.map(({ file, name, bytes }) => {
    if ((bytes - HEAD) % RECORD === 0)
      return { file, name, count: (bytes - HEAD) / RECORD - skip, first: HEAD + skip * RECORD }
    throw new SourceError(`${file} ends within a record: copy or write it again`, { file, offset: bytes })
  })
  const parts = found.map(({ name, bytes }, i) => ({ name, count: files[i].count, bytes }))
  const digest = createHash('sha256')
    .update(JSON.stringify([skip, parts]))
    .digest('hex')
    .slice(0, 32)
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  return { kind: 'marks', fingerprint: { kind: 'marks', count, digest, parts }, indexBytes: 0, files }
}

class MarksSource extends FileRows implements Source {
  readonly columns = ['label', 'data']

  constructor(private readonly files: Files) {
    super(files.map(({ count }) => count))
  }

  id(row: number): string {
    const at = this.locate(row)
    return `${this.files[this.file].name}:${at}`
  }

  key = (row: number): string => this.id(row)
  index = (): undefined => undefined

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length === 0) return
    const at = this.locate(row)
    const { file, first } = this.files[this.file]
    out.ranges.push({ file, offset: first + at * RECORD, length: RECORD })
  }

  sample(
    _row: number,
    _epoch: number,
    columns: readonly string[],
    { ranges }: Pieces,
  ): Record<string, Column> {
    const [record] = ranges
    const column = (name: string): Column => (name === 'label' ? record[0] : record.subarray(1))
    return Object.fromEntries(
      columns.filter(name => this.columns.includes(name)).map(name => [name, column(name)]),
    )
  }
}

export const marks: SourceKind<MarksJson> = {
  open: openMarks,
  attach: ({ files }) => new MarksSource(files as Files),
}
