// How soon the first batch is there: 1.28 M samples in 128 tar shards, indexed. Each round opens in a fresh process,
// as a trainer would; the time runs from `open` to the first batch. Page cache warm.
//
//   node bench/ready.mjs [--save] [--rounds 5]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from '../dist/index.js'
import { TarWriter } from '../dist/prepare/pack/tar-writer.js'
import { encodeJpeg } from '../dist/system/codecs/turbojpeg.js'
import { keep, median, stamp } from './support.mjs'

const SHARDS = 128
const PER_SHARD = 10_000
const folder = join(tmpdir(), 'millrace-bench-ready')
const feed = {
  source: { tar: join(folder, 'ready-{0000..0127}.tar') },
  order: { shuffle: 'global', seed: 1 },
  fields: {
    image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: { size: 64 } }] },
    label: { from: 'cls', as: 'int' },
  },
  batch: 256,
}

if (process.argv.includes('--once')) {
  const begun = performance.now()
  const loader = open(feed, { workers: 2 })
  for await (const batch of loader) {
    const ms = performance.now() - begun
    console.log(JSON.stringify({ ms, openMs: loader.stats().openMs, count: batch.count }))
    break
  }
  await loader.close()
  process.exit()
}

if (!existsSync(join(folder, 'done'))) {
  mkdirSync(folder, { recursive: true })
  // Tiny pictures: it is the number of samples that counts here, not their bytes.
  const jpeg = encodeJpeg(new Uint8Array(16 * 16 * 3).fill(99), 16, 16, 50)
  const text = new TextEncoder()
  for (let shard = 0; shard < SHARDS; shard++) {
    const writer = new TarWriter(join(folder, `ready-${String(shard).padStart(4, '0')}.tar`))
    for (let i = 0; i < PER_SHARD; i++) {
      const number = shard * PER_SHARD + i
      writer.add(String(number).padStart(8, '0'), { jpg: jpeg, cls: text.encode(String(number % 1000)) })
    }
    writer.close()
  }
  const index = spawnSync(process.execPath, [
    fileURLToPath(new URL('../dist/cli/main.js', import.meta.url)),
    'index',
    feed.source.tar,
  ])
  if (index.status !== 0) throw new Error(String(index.stderr))
  writeFileSync(join(folder, 'done.new'), '')
  renameSync(join(folder, 'done.new'), join(folder, 'done'))
}

const at = process.argv.indexOf('--rounds')
const rounds = at < 0 ? 5 : Number(process.argv[at + 1])
const runs = Array.from({ length: rounds }, () =>
  JSON.parse(String(spawnSync(process.execPath, [fileURLToPath(import.meta.url), '--once']).stdout)),
)
keep('ready', {
  ...stamp(),
  command: `node bench/ready.mjs --rounds ${rounds}`,
  what: 'ms from open() to the first batch of 256, 1.28 M samples in 128 indexed tar shards, a fresh process each time',
  cache: 'page cache warm',
  firstBatchMs: median(runs.map(run => run.ms)),
  openMs: median(runs.map(run => run.openMs)),
  runs,
})
