/**
 * The index of one Parquet file: which units it has, and where the column chunks of each lie. It is made of the footer, which
 * is then not read again.
 */
import { createHash } from 'node:crypto'
import type { DataFile } from '../../core/source/find/data-files.js'
import type { IndexHeader } from '../../core/source/index/file.js'
import type { BuiltIndex, FileIndexKind, IndexTools } from '../../core/source/index/of-file.js'
import { wrongLength } from '../../core/source/index/of-file.js'
import { buffered } from '../../core/source/index/read-at.js'
import { classNames } from '../features.js'
import { measureTexts } from './measure.js'
import { type Footer, parseFooter, readFooterBytes } from './structure/footer.js'
import type { ParquetLeaf } from './structure/schema.js'
import { PART_COLUMNS, UNIT_COLUMNS, unitsOf } from './units.js'

/** As many places of a file, spread evenly, are probed: where column chunks begin. */
const PROBED = 32

/** What the header of an index tells besides its columns. */
export interface ParquetMeta {
  /** Of the footer. */
  digest: string
  leaves: ParquetLeaf[]
  /** Nulls of each leaf; below 0 where the file does not say. */
  nulls: number[]
  /** Row groups of the file. */
  groups: number
  createdBy: string
  /** Absent in indexes that believed the footer, where Arrow's writers are wrong. */
  texts?: 'measured'
  /** Names of classes, by column, where Hugging Face's datasets told them. */
  classes?: Record<string, string[]>
  /** The file that was indexed. */
  file: { size: number }
}

export const parquetIndex: FileIndexKind<DataFile> = {
  kind: 'parquet',
  what: 'file',
  malformed,
  build,
}

function malformed(header: IndexHeader): string | undefined {
  const { digest, leaves, nulls, groups, createdBy, texts } = header.meta as Partial<ParquetMeta>
  const isLeaf = (leaf: Partial<ParquetLeaf> | null): boolean =>
    typeof leaf?.name === 'string' &&
    typeof leaf.physical === 'string' &&
    [leaf.width, leaf.definition, leaf.repetition, leaf.elements].every(n => Number.isInteger(n))
  if (typeof digest !== 'string' || !Array.isArray(leaves) || !leaves.every(isLeaf) || !Array.isArray(nulls))
    return 'it is malformed: what it tells of its columns'
  const isDoubtful = texts === undefined && `${createdBy}`.startsWith('parquet-cpp-arrow')
  if (isDoubtful && leaves.some(({ physical }) => physical === 'BYTE_ARRAY'))
    return 'an older version made it, which believed what such files tell of the lengths of their texts'
  if (leaves.some(({ repetition, lists }) => repetition > 1 && !Array.isArray(lists)))
    return 'an older version made it, which read no lists in lists'
  if (!Number.isInteger(groups)) return 'it is malformed: what it tells of its row groups'
  const units = header.columns.unitRows?.length
  const chunks = units === undefined ? undefined : units * leaves.length
  return wrongLength(header, [
    ['unitRows', units],
    ['probes', header.columns.probes?.length],
    ...UNIT_COLUMNS.map(name => [name, chunks] as const),
    ...PART_COLUMNS.flatMap(name => (header.columns.skip === undefined ? [] : [[name, chunks] as const])),
  ])
}

async function build({ file, bytes }: DataFile, tools: IndexTools): Promise<BuiltIndex> {
  const footer = await readFooterBytes(tools.read, bytes, file)
  const parsed = parseFooter(footer, bytes, file)
  const texts = await measureTexts(parsed, tools.read, file)
  const { leaves, nulls, rows, groupRows, createdBy } = parsed
  const classes = classNames({ huggingface: parsed.huggingFace })
  const { unitRows, columns } = await unitsOf(
    parsed,
    tools.local ? tools.read : buffered(tools.read, tools.piece),
    texts,
  )
  const meta: Omit<ParquetMeta, 'file'> = {
    digest: createHash('sha256').update(footer).digest('hex').slice(0, 32),
    leaves,
    nulls,
    groups: groupRows.length,
    createdBy,
    texts: 'measured',
    ...(Object.keys(classes).length > 0 && { classes }),
  }
  tools.progress?.(bytes)
  return {
    count: rows,
    meta: { ...meta },
    columns: { unitRows, ...columns },
    probes: probesOf(parsed),
  }
}

/** The beginnings of some column chunks. */
function probesOf({ chunks: { start } }: Footer): number[] {
  const step = Math.max(1, Math.floor(start.length / PROBED))
  const offsets: number[] = []
  for (let i = 0; i < start.length && offsets.length < PROBED; i += step) offsets.push(start.at(i))
  return offsets
}
