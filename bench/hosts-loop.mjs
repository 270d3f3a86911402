// One run of bench/hosts.mjs in Node: FEED WORKERS DEPTH SECONDS. Prints its rate, and the CPU time of a batch.
import { open } from '../dist/index.js'

const [feed, workers, depth, seconds] = process.argv.slice(2)
const WARM = 40
const loader = open(JSON.parse(feed), { workers: Number(workers), depth: Number(depth), epochs: null })
let done = 0
let rows = 0
let begun = 0
let before
let seen = 0
for await (const batch of loader) {
  if (done++ === WARM) {
    begun = performance.now()
    before = process.cpuUsage()
  }
  const bytes = new Uint8Array(batch.image.buffer, batch.image.byteOffset, batch.image.byteLength)
  for (let i = 0; i < bytes.length; i += 4096) seen |= bytes[i]
  if (begun > 0) rows += batch.count
  if (begun > 0 && performance.now() - begun > Number(seconds) * 1000) break
}
const used = process.cpuUsage(before)
const rate = (rows / (performance.now() - begun)) * 1000
await loader.close()
if (seen === 0) throw new Error('the batches are empty')
console.log(JSON.stringify({ rate, cpuMs: (used.user + used.system) / 1000 / (rows / 256) }))
