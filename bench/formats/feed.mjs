// One case by Millrace, for some seconds, with two workers: node bench/formats/feed.mjs FOLDER SHARDS CASE SECONDS. Prints JSON.
import { open } from '../../dist/index.js'
import { through } from '../loops.mjs'
import { cases } from './cases.mjs'

const [folder, shards, name, seconds] = process.argv.slice(2)
const { feed, options, each } = cases(folder, shards)[name]
const { rows, ms, cpuMs } = await through(open, feed, {
  ...options,
  workers: 2,
  epochs: 1_000_000,
  warm: 2,
  seconds: Number(seconds),
})
console.log(JSON.stringify({ units: rows * each, seconds: ms / 1000, cpu: cpuMs / 1000 }))
