// How long a batch that is complete takes from `next()` to its first array, for batches of 8 and of 128 MB. The program
// asks for a batch when it is there, and worker and collector had some time to come to rest. One worker, rows from memory.
//
//   node bench/hand-over.mjs [--save] [--batches 200] [--build DIR]
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { keep, root, stamp } from './support.mjs'

const { values: given } = parseArgs({
  options: {
    save: { type: 'boolean', default: false },
    batches: { type: 'string', default: '200' },
    build: { type: 'string', default: root },
  },
})
const { open } = await import(resolve(given.build, 'dist/index.js'))
const batches = Number(given.batches)
/** Batches before the first that counts: each slot has been seen by then. */
const WARM = 8
const ROW = 4
/** A step (ms): between two looks whether the next batch is complete, and after that. */
const STEP = 20

const sleep = ms => new Promise(done => setTimeout(done, ms))

async function handOver(megabytes) {
  const batch = megabytes / ROW
  const shape = [1024, 1024]
  const feed = {
    source: { synthetic: { count: 8 * batch, tensors: { shape, dtype: 'f32' } } },
    fields: { data: { from: 'data', as: 'npy', dtype: 'f32', shape } },
    batch,
  }
  const collections = []
  const observer = new PerformanceObserver(list => collections.push(...list.getEntries()))
  const loader = open(feed, { workers: 1, depth: 3, steps: WARM + batches })
  const steps = loader[Symbol.asyncIterator]()
  await loader.ready
  const { ring } = loader.supply.feeding
  const next = []
  const first = []
  let sum = 0
  for (let i = 0; i < WARM + batches; i++) {
    while (ring.ready(i) === undefined) await sleep(STEP)
    await sleep(STEP)
    if (i === WARM) observer.observe({ entryTypes: ['gc'] })
    const asked = performance.now()
    const { value } = await steps.next()
    const got = performance.now()
    const { data } = value
    const seen = performance.now()
    sum += data[data.length - 1]
    if (i < WARM) continue
    next.push(got - asked)
    first.push(seen - asked)
  }
  await sleep(10)
  observer.disconnect()
  await loader.close()
  if (!(sum >= 0)) throw new Error('the rows are not what they should be')
  const inAll = collections.reduce((ms, { duration }) => ms + duration, 0)
  return {
    megabytes,
    batches: next.length,
    nextMs: percentiles(next),
    nextAndFirstArrayMs: percentiles(first),
    collections: { count: collections.length, ms: round(inAll) },
  }
}

function percentiles(values) {
  const sorted = values.sort((a, b) => a - b)
  const at = p => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))])
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) }
}

const round = ms => Math.round(ms * 1000) / 1000

const results = []
for (const megabytes of [8, 128]) results.push(await handOver(megabytes))
keep('hand-over', {
  ...stamp(),
  command: `node bench/hand-over.mjs --batches ${batches}`,
  what: 'ms from next() to the batch, and to its first array, where the batch is complete; one worker, rows of 4 MB from memory',
  results,
})
