// Benchmarks of one question each, page cache warm. Each prints one JSON object.
//
//   npm run build && node bench/micro.mjs NAME [--save] [--rounds 5] [--threads N] [--steps 2000]
//
//   raw           img/s of raw 256² pictures (no decoding), randomResizedCrop(224) + flip, u8 out: FFCV's published setting
//   overhead      µs a batch that the engine costs: rows of 4 kB from memory, less the bare cost of making the same rows
//   ready         ms from open() to the first batch, 1.28 M samples in 128 indexed tar shards, a fresh process each time
//   flat          slope of resident memory over --steps, after as many of warming up (run it with --expose-gc)
//   permutation   positions of a global shuffle a second, one thread
//   reads         samples and bytes a second that one thread reads from shards, one by one and in merged claims
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { permutation } from '../build/core/order/permutation.js'
import { attachSource, openSource } from '../build/core/source/registry.js'
import { Reader } from '../build/core/store/reader.js'
import { Stores } from '../build/core/store/stores.js'
import { usableCores } from '../build/core/system/process/limits.js'
import { open } from '../dist/index.js'
import { manySamples, pictures, rawPictures } from './data.mjs'
import { firstBatch, manyFeed, memory, memoryFeed, memorySource, ROW, rawFeed, through } from './loops.mjs'
import { interleaved, keep, median, stamp } from './support.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    save: { type: 'boolean' },
    once: { type: 'boolean' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: String(usableCores()) },
    steps: { type: 'string', default: '2000' },
  },
})
const [rounds, threads, steps] = [values.rounds, values.threads, values.steps].map(Number)
const DEPTH = 8

const BENCHES = {
  async raw() {
    const source = rawPictures()
    const fed = layout => async () => {
      const options = { workers: threads, depth: 4, epochs: 4, warm: 1 }
      const { rows, ms } = await through(open, rawFeed(source, layout, 256), options)
      return (rows / ms) * 1000
    }
    const results = await interleaved({ chw: fed('chw'), hwc: fed('hwc') }, rounds)
    const perCore = { chw: results.chw.median / threads, hwc: results.hwc.median / threads }
    return { what: 'batch 256, img/s over all threads', threads, results, perCore }
  },

  async overhead() {
    const cases = { 1: 20000, 16: 8000, 256: 1000 }
    const contenders = { 'engine 1, in thread': () => engine(1, 0, cases[1]) }
    for (const [batch, n] of Object.entries(cases)) {
      contenders[`bare ${batch}`] = () => bare(Number(batch), n)
      contenders[`engine ${batch}`] = () => engine(Number(batch), 1, n)
    }
    const results = await interleaved(contenders, rounds)
    const less = batch => results[`engine ${batch}`].median - results[`bare ${batch}`].median
    const overheadMicroseconds = Object.fromEntries(Object.keys(cases).map(batch => [batch, less(batch)]))
    const what = `µs a batch, one worker, depth ${DEPTH}; the bare loop writes to as many slots`
    return { what, results, overheadMicroseconds }
  },

  async ready() {
    const once = [fileURLToPath(import.meta.url), 'ready', '--once']
    if (values.once) {
      console.log(JSON.stringify(await firstBatch(open, manyFeed(manySamples()), { workers: 2 })))
      process.exit()
    }
    manySamples()
    const round = () => JSON.parse(String(spawnSync(process.execPath, once).stdout))
    const runs = Array.from({ length: rounds }, round)
    const of = key => median(runs.map(run => run[key]))
    return { what: 'ms to the first batch of 256', firstBatchMs: of('ms'), openMs: of('openMs'), runs }
  },

  async flat() {
    const what = `resident memory over steps ${steps}…${2 * steps}, batch 16 of f32 [3, 224, 224], 2 workers, depth 4`
    return { what, ...(await memory(open, await pictures(4096, 2), steps)) }
  },

  async permutation() {
    // 2^30 + 1 is the worst case near 10^9: half of the cipher's domain lies outside and is walked through.
    const sizes = { '1e3': 1e3, '1e6': 1e6, '1e9': 1e9, '2^30+1': 2 ** 30 + 1, '2^45': 2 ** 45 }
    const contenders = {}
    for (const [name, n] of Object.entries(sizes))
      for (const method of ['at', 'inverse']) contenders[`${name} ${method}`] = () => positions(n, method)
    for (const run of Object.values(contenders)) run() // warms up every path
    return { what: 'positions a second', results: await interleaved(contenders, rounds) }
  },

  async reads() {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-reads-'))
    const files = Array.from({ length: SHARDS }, (_, i) => join(folder, `${i}.tar`))
    for (const file of files) writeFileSync(file, Buffer.alloc(SAMPLES * STRIDE, 1))
    const range = i => ({
      file: files[Math.floor(i / SAMPLES)],
      offset: (i % SAMPLES) * STRIDE,
      length: SIZE,
    })
    const shuffled = i => range((i * 2_654_435_761) % TOTAL)
    claims(1, range, 'sequential') // warms up
    const ways = {
      'single, shuffled': claims(1, shuffled, 'random'),
      'claims of 16, shuffled': claims(16, shuffled, 'random'),
      'claims of 16, neighbours': claims(16, range, 'sequential'),
    }
    rmSync(folder, { recursive: true })
    return { what: 'one thread, local shards', ways }
  },
}

/** µs a batch through the engine. */
async function engine(batch, workers, count) {
  const options = { workers, depth: DEPTH, steps: count + 200, warm: 200 }
  const { ms, rows } = await through(open, memoryFeed(batch), options)
  if (rows !== count * batch) throw new Error('short batch')
  return (ms / count) * 1000
}

/** µs to make the rows of a batch and copy them to their place, without an engine. */
async function bare(batch, count) {
  const opened = attachSource(await openSource(memorySource, { root: '/', wanted: ['data'] }))
  // As many slots as the engine has, in turn: otherwise the bare loop writes to its cache, and the engine to memory.
  const slots = new Uint8Array(new SharedArrayBuffer(DEPTH * batch * ROW))
  const nothing = { ranges: [], units: [] }
  let row = 0
  const begun = performance.now()
  for (let step = 0; step < count; step++) {
    for (let i = 0; i < batch; i++) {
      const bytes = opened.sample((row = (row * 7919 + 13) % opened.count), 0, ['data'], nothing).data
      slots.set(bytes.subarray(bytes.length - ROW), ((step % DEPTH) * batch + i) * ROW)
    }
  }
  return ((performance.now() - begun) / count) * 1000
}

/** Positions a second. They are consecutive, as a loader asks for them; the sum keeps the work from being optimised away. */
function positions(n, method, count = 3_000_000) {
  const order = permutation(n, { seed: 7, epoch: 3 })
  const begun = performance.now()
  let sum = 0
  for (let i = 0, p = 0; i < count; i++, p = p + 1 === n ? 0 : p + 1)
    sum = (sum + order[method](p)) % 1_000_003
  const rate = (count / (performance.now() - begun)) * 1000
  if (Number.isNaN(sum)) throw new Error('a position without an index')
  return rate
}

const SHARDS = 8
const SAMPLES = 1024 // a shard
const SIZE = 30_000 // bytes: a 224² JPEG
const STRIDE = 30_720 // a tar's headers and padding in between
const TOTAL = SHARDS * SAMPLES

/** One second of reading claims of `claim` samples each. */
function claims(claim, at, access) {
  const store = new Stores({ access })
  const reader = new Reader(store)
  const begun = performance.now()
  let n = 0
  for (; performance.now() - begun < 1000; n++)
    reader.read(Array.from({ length: claim }, (_, i) => at((n * claim + i) % TOTAL)))
  const seconds = (performance.now() - begun) / 1000
  const { bytesRead, bytesUsed, reads } = reader.counts
  store.close()
  const samples = n * claim
  return {
    samplesPerSecond: samples / seconds,
    usedBytesPerSecond: bytesUsed / seconds,
    samplesPerRead: samples / reads,
    readOverUsed: bytesRead / bytesUsed,
  }
}

const [name] = positionals
if (!Object.hasOwn(BENCHES, name ?? '')) {
  console.error(`which one? ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}
const command = `node ${[...process.execArgv, `bench/micro.mjs ${name} --rounds ${rounds} --threads ${threads} --steps ${steps}`].join(' ')}`
keep(name, { ...stamp(), command, cache: 'page cache warm', ...(await BENCHES[name]()) })
