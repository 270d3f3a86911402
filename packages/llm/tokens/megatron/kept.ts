/** Large tables of Megatron's order, made once and kept as an index in the cache folder, as long as the file and the order are the same. */
import type { NumberColumn, NumberType } from '../../../core/source/index/columns.js'
import type { IndexFound } from '../../../core/source/index/place.js'
import type { OpenContext } from '../../../core/source/source.js'
import type { TokenFile } from '../formats/token-file.js'
import { attachKept, obtainTables, stampOf } from '../kept-tables.js'

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
export async function obtainOrder(
  { path, size, begin, dtype, version, index }: TokenFile,
  order: unknown,
  make: () => Promise<{ tables: MegatronTables; meta: MegatronMeta }>,
  context: OpenContext,
): Promise<{ index: IndexFound; meta: MegatronMeta }> {
  const side = [index?.size, index && stampOf(index.version)]
  const about = [FORMAT, order, size, begin, dtype, stampOf(version), ...side]
  const columns = async () => {
    const { tables, meta } = await make()
    const all = Object.entries(TYPES).map(([name, type]): [string, NumberColumn] => [
      name,
      columnOf(type, tables[name as keyof MegatronTables]),
    ])
    return { count: meta.count, meta, columns: Object.fromEntries(all) }
  }
  return obtainTables({ kind: 'tokens megatron', path, about, beside: false, make: columns }, context)
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
export function keptTables(kept: { path: string; checksum: number }): MegatronTables {
  const index = attachKept(kept, "where Megatron's order is kept,")
  const tables = Object.keys(TYPES).map(name => [name, index.numbers(name)])
  return Object.fromEntries(tables) as MegatronTables
}
