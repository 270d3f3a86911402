// How soon the first batch is there: 1.28 M samples in 128 tar shards, indexed. Each round opens in a fresh process,
// as a trainer would; the time runs from `open` to the first batch. Page cache warm.
//
//   node bench/ready.mjs [--save] [--rounds 5]
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { open } from '../dist/index.js'
import { manySamples } from './data.mjs'
import { firstBatch, manyFeed } from './loops.mjs'
import { keep, median, stamp } from './support.mjs'

const feed = manyFeed(manySamples())

if (process.argv.includes('--once')) {
  console.log(JSON.stringify(await firstBatch(open, feed, { workers: 2 })))
  process.exit()
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
