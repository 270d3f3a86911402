/** Writes one shard of a plan: reads the samples of its places and puts them, in that order, into a tar file. */
import { join } from 'node:path'
import { attachSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { Manifest } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import type { Handler } from '../../../core/system/node/threads.js'
import { keyOfRow, type PackedKeys } from './keys.js'
import { memberNames, membersOf } from './members.js'
import type { ShardPlan } from './plan.js'
import { TarWriter } from './tar-writer.js'

export interface PackSetup {
  manifest: Manifest
  plugins?: readonly string[]
  order: Uint32Array | undefined
  keys: PackedKeys
  out: string
}

/** What the journal keeps of a finished shard. */
export interface PackedShard {
  name: string
  samples: number
  bytes: number
}

/** Samples between two reports of progress. */
const REPORT_EVERY = 64

export function shardPacker({ manifest, order, keys, out }: PackSetup): Handler<ShardPlan, PackedShard> {
  const source = attachSource(manifest)
  const { columns } = source
  const names = memberNames(source)
  const rows = new RowReader(source, new Reader(new Stores({ access: 'sequential' })))
  return async ({ name: shard, begin, end }, report) => {
    const writer = new TarWriter(join(out, shard))
    try {
      for (let place = begin; place < end; place++) {
        const row = order === undefined ? place : order[place]
        const read = rows.read(row, columns)
        const { sample } = read instanceof Promise ? await read : read
        const { name, own } = keyOfRow(source, row, keys)
        writer.add(name, membersOf(source, row, sample, names), own)
        if ((place - begin + 1) % REPORT_EVERY === 0) report(REPORT_EVERY)
      }
      const bytes = writer.close()
      report((end - begin) % REPORT_EVERY)
      return { name: shard, samples: end - begin, bytes }
    } catch (error) {
      writer.discard()
      throw error
    }
  }
}
