/**
 * Rows as Megatron's GPTDataset has them, in its order: row p is the sample that stands at position p of its shuffle index. A sample goes
 * through documents in the order of the document index; the target behind the last token of one is the first of the next.
 */
import { keptTables, type MegatronTables } from '../megatron/kept.js'
import type { Stretches } from '../token-rows.js'
import type { RowPlace, RowPlaces } from './row-places.js'

/** Plain data; large tables are shared. */
export interface MegatronData {
  pack: 'megatron'
  count: number
  /** Tokens of a row, the extra one for its last target included. */
  tokens: number
  /** Tokens by which samples overlap. */
  extra: number
  /** The first document of this part. */
  from: number
  /** In shared memory, or kept in an index. */
  tables: MegatronTables | { path: string; checksum: number }
}

export class MegatronRows implements RowPlaces {
  readonly count: number
  readonly moves = false
  readonly crosses = false
  readonly parted = true

  private readonly tables: MegatronTables

  constructor(private readonly data: MegatronData) {
    this.count = data.count
    this.tables = 'path' in data.tables ? keptTables(data.tables) : data.tables
  }

  stretches(row: number, _epoch: number, out: Stretches): void {
    const { tokens, extra, from } = this.data
    const { documents, places, offsets, shuffle, starts, lengths } = this.tables
    const sample = shuffle[row]
    const last = places[sample + 1]
    let begin = offsets[sample]
    let place = 0
    for (let i = places[sample]; i <= last && place < tokens; i++) {
      const document = documents[i] - from
      const end = i < last ? lengths[document] : offsets[sample + 1] + extra
      const count = Math.min(end - begin, tokens - place)
      if (count > 0) out.add(0, starts[document] + begin, count, place, place > 0)
      place += Math.max(0, count)
      begin = 0
    }
  }

  begin(row: number): RowPlace {
    const { document, offset } = this.first(row)
    return { file: 0, offset: this.tables.starts[document - this.data.from] + offset }
  }

  id(row: number): string {
    const { document, offset } = this.first(row)
    return `:${document}+${offset}`
  }

  /** The document that a row begins in: the first that still has tokens there. */
  private first(row: number): { document: number; offset: number } {
    const { from } = this.data
    const { documents, places, offsets, shuffle, lengths } = this.tables
    const sample = shuffle[row]
    let i = places[sample]
    let offset = offsets[sample]
    while (offset >= lengths[documents[i] - from] && i + 1 < documents.length) {
      i++
      offset = 0
    }
    return { document: documents[i], offset }
  }
}
