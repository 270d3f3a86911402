/**
 * Tar shards while a feed runs: which shard holds a row, and the columns of all shards' indexes as one. Each index is
 * mapped when one of its rows is first asked for. A sample is one range of its shard.
 */
import { trimBlanks } from '../../core/basics/trim.js'
import type {
  Column,
  IndexColumn,
  Manifest,
  Need,
  Pieces,
  Present,
  Source,
} from '../../core/source/source.js'
import { OpenIndexes } from '../shared/file-rows.js'
import { type ShardManifest, TarShard } from './shard.js'

export interface TarManifest extends Manifest {
  kind: 'tar'
  shards: ShardManifest[]
  columns: string[]
  indexed: { name: string; type: 'number' | 'string' }[]
  /** Bytes that a gzipped member may unpack to, by column. */
  most: Readonly<Record<string, number>>
}

export class TarSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed: readonly string[]
  /** First row of each shard, and the count at the end. */
  private readonly starts: Float64Array
  private readonly shards: OpenIndexes<TarShard>
  /** Where the last row was found: the next is mostly there too. */
  private last = 0

  constructor(private readonly manifest: TarManifest) {
    const { shards } = manifest
    this.starts = new Float64Array(shards.length + 1)
    shards.forEach((shard, i) => {
      this.starts[i + 1] = this.starts[i] + shard.count
    })
    this.count = this.starts[shards.length]
    this.columns = manifest.columns
    this.runs = this.starts.filter((_, i) => i < shards.length && shards[i].count > 0)
    this.shards = new OpenIndexes(shards.length, i => new TarShard(shards[i], manifest.most))
    this.indexed = [...manifest.indexed.map(({ name }) => name), 'key', 'shard']
  }

  id(row: number): string {
    return this.shardOf(row).id(row - this.starts[this.last])
  }

  key(row: number): string {
    return this.shardOf(row).key(row - this.starts[this.last])
  }

  keyHash(row: number): number {
    return this.shardOf(row).keyHashes[row - this.starts[this.last]]
  }

  where(row: number): { file: string; offset: number } {
    const shard = this.shardOf(row)
    return { file: shard.manifest.file, offset: shard.offset(row - this.starts[this.last]) }
  }

  present(row: number): Present {
    return this.shardOf(row).present(row - this.starts[this.last])
  }

  index(name: string): IndexColumn | undefined {
    const found = this.manifest.indexed.find(column => column.name === name)
    if (found?.type === 'number') return this.numberColumn(name)
    if (found?.type === 'string') return this.textColumn(name)
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name === 'shard') return { type: 'string', at: row => this.shardOf(row).manifest.name }
    return undefined
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    const range = this.shardOf(row).plan(row - this.starts[this.last], columns)
    if (range !== undefined) out.ranges.push(range)
  }

  sample(
    row: number,
    _epoch: number,
    columns: readonly string[],
    { ranges }: Pieces,
  ): Record<string, Column> {
    return this.shardOf(row).sample(row - this.starts[this.last], ranges[0], columns)
  }

  private numberColumn(name: string): IndexColumn {
    const columns = new OpenIndexes(this.manifest.shards.length, i => this.shards.of(i).numbers(name) ?? [])
    return {
      type: 'number',
      at: row => {
        this.locate(row)
        return columns.of(this.last)[row - this.starts[this.last]] ?? Number.NaN
      },
    }
  }

  private textColumn(name: string): IndexColumn {
    const columns = new OpenIndexes(this.manifest.shards.length, i => ({
      text: this.shards.of(i).texts(name),
    }))
    return {
      type: 'string',
      at: row => {
        this.locate(row)
        return trimBlanks(columns.of(this.last).text?.at(row - this.starts[this.last]) ?? '')
      },
    }
  }

  private shardOf(row: number): TarShard {
    this.locate(row)
    return this.shards.of(this.last)
  }

  /** Sets `last` to the shard that holds a row. */
  private locate(row: number): void {
    const { starts } = this
    if (row >= starts[this.last] && row < starts[this.last + 1]) return
    let low = 0
    let high = starts.length - 1
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (starts[middle] <= row) low = middle
      else high = middle
    }
    this.last = low
  }
}
