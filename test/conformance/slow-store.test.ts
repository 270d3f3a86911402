/**
 * Data in a store that is far away goes through all that local data goes through: each request waits for its first byte,
 * answers come in random order, one of a hundred fails. The store comes as a plugin.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SourceJson } from '../../packages/core/define/types.js'
import { addStore } from '../../packages/core/store/stores.js'
import { conforms } from '../../packages/core/test/source/conformance.js'
import { temporaryFolder } from '../support/folder.js'
import { slowStore, writeSlowPlugin } from '../support/slow-store.mjs'
import { type TarEntry, tarFile } from '../support/tar.js'
import { expected, writeUnits } from '../support/units-source.mjs'
import { matrix } from './matrix.js'

const home = temporaryFolder()
process.env.MILLRACE_CACHE = temporaryFolder()
const plugins = [
  writeSlowPlugin(join(temporaryFolder(), 'slow.mjs'), { folder: home, latency: 1, errors: 0.01 }),
  join(import.meta.dirname, '../support/units-source.mjs'),
]
// The suite runs on packages/, the matrix on dist/.
addStore('slow', slowStore({ folder: home, latency: 1 }))

/** Values of more than 64 bytes: smaller ones would lie in the index. */
const TIMES = 30
const rows = (seed: number): number => (seed === 1 ? 900 : 300)

/** A shard of the rows from `from` to `to`, each with a member for each column. */
function shard(seed: number, from: number, to: number, prefix = ''): Buffer {
  const entries: TarEntry[] = []
  for (let row = from; row < to; row++) {
    const { data, extra, own, ...small } = expected(seed, row)
    const long = { data, extra, own }
    for (const [name, bytes] of Object.entries(long)) {
      const whole = Buffer.concat(Array<Uint8Array>(TIMES).fill(bytes))
      entries.push({ name: `s${seed}-${row}.${prefix}${name}`, data: whole })
    }
    for (const [name, value] of Object.entries(small))
      entries.push({ name: `s${seed}-${row}.${prefix}${name}`, data: String(value) })
  }
  return tarFile(entries)
}

function writeShards(folder: string, seed: number, count: number, prefix = ''): void {
  mkdirSync(folder, { recursive: true })
  for (let part = 0; part < 3; part++) {
    const [from, to] = [part, part + 1].map(border => Math.floor((count * border) / 3))
    writeFileSync(join(folder, `x-${part}.tar`), shard(seed, from, to, prefix))
  }
}

const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1').repeat(TIMES)
const { data, extra, number } = expected(4, 0)
conforms({
  name: 'tar in a slow store',
  json: folder => ({ tar: `slow://${folder}/x-{0..2}.tar` }),
  store: { scheme: 'slow', folder: home },
  wanted: ['data', 'extra', 'number'],
  write: root => writeShards(root, 4, 40),
  change: root => writeShards(root, 5, 41),
  count: 40,
  first: { data: latin(data), extra: latin(extra), number: String(number) },
})

for (const seed of [1, 2]) {
  writeShards(join(home, `tar-${seed}`), seed, rows(seed))
  writeUnits(join(home, `units-${seed}`), { rows: rows(seed), seed })
}
writeShards(join(home, 'tar-1-b_'), 1, rows(1), 'b_')

const shared = { rows, plugins, prefixes: true, window: 400 }
matrix('tar in a slow store', {
  ...shared,
  times: TIMES,
  source: (seed, prefix) => ({ tar: `slow://tar-${seed}${prefix ? `-${prefix}` : ''}/x-{0..2}.tar` }),
})
matrix('units in a slow store', {
  ...shared,
  times: 1,
  brief: true,
  source: (seed, prefix) =>
    ({
      units: { path: `slow://units-${seed}`, index: join(home, `units-${seed}`), prefix },
    }) as unknown as SourceJson,
})
