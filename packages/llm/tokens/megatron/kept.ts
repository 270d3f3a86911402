/** Large tables of Megatron's order, made once and kept as an index in the cache folder, as long as the file and the order are the same. */
import { createHash } from 'node:crypto'
import { SourceError } from '../../../core/basics/errors.js'
import { canonicalJson } from '../../../core/define/hash.js'
import type { NumberColumn, NumberType } from '../../../core/source/index/columns.js'
import { IndexFile } from '../../../core/source/index/file.js'
import { type IndexFound, obtainIndex } from '../../../core/source/index/place.js'
import { writeIndex } from '../../../core/source/index/write.js'
import type { OpenContext } from '../../../core/source/source.js'
import type { TokenFile } from '../formats/token-file.js'
import { stampOf } from '../pack/kept-pack.js'

const KIND = 'tokens megatron'
/** Changes when the columns do. */
const FORMAT = 1
/** Bytes that are written at a time. */
const PIECE = 1 << 22

/** Numbers by position, by table. */
export interface MegatronTables {
  documents: NumberTable
  places: NumberTable
  offsets: NumberTable
  shuffle: NumberTable
  /** Of each document of this part: its first token in the file, and how many it has. */
  starts: NumberTable
  lengths: NumberTable
}

export type NumberTable = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array

const TYPES: Readonly<Record<keyof MegatronTables, NumberType>> = {
  documents: 'i32',
  places: 'u32',
  offsets: 'i32',
  shuffle: 'u32',
  starts: 'f64',
  lengths: 'u32',
}

/** What is known without the tables. */
export interface MegatronMeta {
  count: number
  /** Tokens of the documents of this part. */
  tokens: number
}

/** The tables of an order that was kept, or newly made. */
export async function obtainTables(
  file: TokenFile,
  order: unknown,
  make: () => Promise<{ tables: MegatronTables; meta: MegatronMeta }>,
  { check, notice }: OpenContext,
): Promise<{ index: IndexFound; meta: MegatronMeta }> {
  const { path, size, begin, dtype, version, index } = file
  const data = [
    FORMAT,
    order,
    size,
    begin,
    dtype,
    stampOf(version),
    index?.size,
    index && stampOf(index.version),
  ]
  const about = createHash('sha256').update(canonicalJson(data)).digest('hex').slice(0, 32)
  const found = await obtainIndex({
    data: `${path}.${about.slice(0, 12)}.megatron`,
    problem: ({ kind, meta }) =>
      kind === KIND && meta.about === about ? undefined : 'it was made for another file or order',
    doubted: check === 'nothing',
    notice,
    build: async target => {
      const { tables, meta } = await make()
      const columns = Object.entries(TYPES).map(([name, type]): [string, NumberColumn] => [
        name,
        columnOf(type, tables[name as keyof MegatronTables]),
      ])
      writeIndex(target, KIND, meta.count, { about, ...meta }, Object.fromEntries(columns))
    },
  })
  return { index: found, meta: found.header.meta as unknown as MegatronMeta }
}

function columnOf(type: NumberType, table: NumberTable): NumberColumn {
  return {
    type,
    length: table.length,
    *pieces() {
      for (let at = 0; at < table.byteLength; at += PIECE) {
        const length = Math.min(PIECE, table.byteLength - at)
        yield new Uint8Array(table.buffer, table.byteOffset + at, length)
      }
    },
  }
}

/** Maps the tables: threads share their memory. */
export function keptTables({ path, checksum }: { path: string; checksum: number }): MegatronTables {
  const index = new IndexFile(path, true)
  if (index.header.checksum !== checksum)
    throw new SourceError(
      `${path}, where Megatron's order is kept, was replaced during the run: start again`,
      {
        file: path,
      },
    )
  const tables = Object.keys(TYPES).map(name => [name, index.numbers(name)])
  return Object.fromEntries(tables) as MegatronTables
}
