/**
 * Bytes and samples a second that one thread reads from local shards through the Reader, page cache warm:
 * samples one by one in shuffled order, shuffled claims, and claims of neighbours, which are merged.
 *
 *   npm run build && node bench/reads.mjs [folder for the test files]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Reader } from '../dist/store/reader.js'
import { Stores } from '../dist/store/stores.js'

const SHARDS = 8
const SAMPLES = 1024 // a shard
const SIZE = 30_000 // bytes: a 224² JPEG
const STRIDE = 30_720 // a tar's headers and padding in between
const CLAIM = 16 // rows a claim
const SECONDS = 1

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'millrace-reads-'))
const files = Array.from({ length: SHARDS }, (_, i) => join(folder, `${i}.tar`))
for (const file of files) writeFileSync(file, Buffer.alloc(SAMPLES * STRIDE, 1))

const total = SHARDS * SAMPLES
const range = i => ({ file: files[Math.floor(i / SAMPLES)], offset: (i % SAMPLES) * STRIDE, length: SIZE })
const shuffled = i => range((i * 2_654_435_761) % total)

function measure(name, claim, at) {
  const store = new Stores({ access: at === range ? 'sequential' : 'random' })
  const reader = new Reader(store)
  const claims = n => Array.from({ length: claim }, (_, i) => at((n * claim + i) % total))
  const began = performance.now()
  let n = 0
  while (performance.now() - began < SECONDS * 1000) reader.read(claims(n++))
  const seconds = (performance.now() - began) / 1000
  const { bytesRead, bytesUsed, reads } = reader.counts
  store.close()
  return {
    way: name,
    'samples/s': Math.round((n * claim) / seconds),
    'GB/s used': (bytesUsed / seconds / 1e9).toFixed(2),
    'µs/sample': ((seconds * 1e6) / (n * claim)).toFixed(1),
    'samples/read': ((n * claim) / reads).toFixed(1),
    'read/used': (bytesRead / bytesUsed).toFixed(3),
  }
}

measure('warm-up', 1, range)
console.table([
  measure('single, shuffled', 1, shuffled),
  measure(`claims of ${CLAIM}, shuffled`, CLAIM, shuffled),
  measure(`claims of ${CLAIM}, neighbours`, CLAIM, range),
])
rmSync(folder, { recursive: true })
