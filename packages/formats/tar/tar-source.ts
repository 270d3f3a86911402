/**
 * Tar shards while a feed runs: which shard holds a row, and the columns of all shards' indexes as one. Each index is
 * mapped when one of its rows is first asked for. A sample is one range of its shard.
 */

import { trimBlanks } from '../../core/basics/trim.js'
import type { Columns, IndexColumn, Manifest, Need, Pieces, Present } from '../../core/source/source.js'
import type { IndexedFile } from '../indexed-files.js'
import { RowsOfFiles } from '../rows-of-files.js'
import { OpenIndexes } from '../shared/file-rows.js'
import { TarShard } from './shard.js'

export interface TarManifest extends Manifest {
  kind: 'tar'
  shards: IndexedFile[]
  columns: string[]
  indexed: { name: string; type: 'number' | 'string' }[]
  /** Bytes that a gzipped member may unpack to, by column. */
  most: Readonly<Record<string, number>>
}

export class TarSource extends RowsOfFiles {
  override readonly indexed: readonly string[]
  private readonly shards: OpenIndexes<TarShard>

  constructor(private readonly manifest: TarManifest) {
    const { shards } = manifest
    super(shards, manifest.columns)
    this.shards = new OpenIndexes(shards.length, i => new TarShard(shards[i], manifest.most))
    this.indexed = [...manifest.indexed.map(({ name }) => name), 'key', 'shard']
  }

  override id(row: number): string {
    return this.shardOf(row).id(row - this.rows.starts[this.rows.file])
  }

  override key(row: number): string {
    return this.shardOf(row).key(row - this.rows.starts[this.rows.file])
  }

  keyHash(row: number): number {
    return this.shardOf(row).keyHashes[row - this.rows.starts[this.rows.file]]
  }

  where(row: number): { file: string; offset: number } {
    const shard = this.shardOf(row)
    return { file: shard.manifest.file, offset: shard.offset(row - this.rows.starts[this.rows.file]) }
  }

  present(row: number): Present {
    return this.shardOf(row).present(row - this.rows.starts[this.rows.file])
  }

  override index(name: string): IndexColumn | undefined {
    const found = this.manifest.indexed.find(column => column.name === name)
    if (found?.type === 'number') return this.numberColumn(name)
    if (found?.type === 'string') return this.textColumn(name)
    return super.index(name)
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    const range = this.shardOf(row).plan(row - this.rows.starts[this.rows.file], columns)
    if (range !== undefined) out.ranges.push(range)
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    return this.shardOf(row).sample(row - this.rows.starts[this.rows.file], ranges[0], columns)
  }

  private numberColumn(name: string): IndexColumn {
    const columns = new OpenIndexes(this.manifest.shards.length, i => this.shards.of(i).numbers(name) ?? [])
    return {
      type: 'number',
      at: row => {
        this.rows.locate(row)
        return columns.of(this.rows.file)[row - this.rows.starts[this.rows.file]] ?? Number.NaN
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
        this.rows.locate(row)
        const { file, starts } = this.rows
        return trimBlanks(columns.of(file).text?.at(row - starts[file]) ?? '')
      },
    }
  }

  private shardOf(row: number): TarShard {
    this.rows.locate(row)
    return this.shards.of(this.rows.file)
  }
}
