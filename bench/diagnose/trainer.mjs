// A trainer for a case: goes over the feed, and sleeps or works for each step. Says its rate as one line of JSON, or, with
// --forever, trains until it is told to end.
//
//   node bench/diagnose/trainer.mjs FEED --workers N --depth N [--plugin FILE] [--step-ms T | --step-rounds N] [--seconds S]
//     [--from-start] [--forever] [--rank R --world W]
import { readSync, writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { open } from '../../dist/index.js'
import { busyMs } from './cores.mjs'
import { work } from './functions.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    workers: { type: 'string' },
    depth: { type: 'string' },
    plugin: { type: 'string' },
    'step-ms': { type: 'string', default: '0' },
    'step-rounds': { type: 'string', default: '0' },
    seconds: { type: 'string', default: '2' },
    rank: { type: 'string' },
    world: { type: 'string' },
    'from-start': { type: 'boolean', default: false },
    forever: { type: 'boolean', default: false },
  },
})
const stepMs = Number(values['step-ms'])
const rounds = Number(values['step-rounds'])
const seconds = Number(values.seconds)
const WARM = 500
/** Steps after which a trainer that goes on for ever says that it trains. */
const READY = 20
/** On a machine that is far too busy, what there is counts. */
const LONGEST = 20_000
const never = new Int32Array(new SharedArrayBuffer(4))

const begun = performance.now()
const { default: feed } = await import(pathToFileURL(positionals[0]))
const loader = open(feed, {
  workers: Number(values.workers),
  depth: Number(values.depth),
  epochs: null,
  notice: () => {},
  ...(values.plugin !== undefined && { plugins: [values.plugin] }),
  ...(values.rank !== undefined && { rank: Number(values.rank), world: Number(values.world) }),
})

let from = values['from-start'] ? clock(begun) : undefined
let first
let samples = 0
let steps = 0
let waited = 0
let asked = performance.now()
let ended = false
process.on('SIGTERM', () => (ended = true))
for await (const batch of loader) {
  const got = performance.now()
  first ??= got
  if (from === undefined) {
    if (got - first > WARM) from = clock(got)
  } else {
    samples += batch.samples
    steps++
    waited += got - asked
  }
  if (!values.forever && (got - (from?.at ?? got) > seconds * 1000 || got - begun > LONGEST)) break
  if (stepMs > 0) Atomics.wait(never, 0, 0, stepMs)
  if (rounds > 0) work(rounds)
  if (values.rank !== undefined) meet()
  if (values.forever && steps === READY) writeSync(1, 'ready\n')
  asked = performance.now()
  if (ended) break
  if (values.forever && steps % 64 === 0) await new Promise(resolve => setImmediate(resolve))
}
if (from !== undefined && !values.forever) console.log(JSON.stringify(from.since(samples, steps, waited)))
await loader.close()
process.exit()

/** Waits until the other ranks have done this step, as an all-reduce does: fd 3 asks, fd 4 answers. */
function meet() {
  writeSync(3, 'x')
  if (readSync(4, Buffer.alloc(1)) === 0) process.exit()
}

/** What passes from now on: rate, and cores that this process and others used. */
function clock(at) {
  const cpu = process.cpuUsage()
  const busy = busyMs()
  return {
    at,
    since(samples, steps, waited) {
      const ms = performance.now() - at
      const { user, system } = process.cpuUsage(cpu)
      const own = (user + system) / 1000
      return {
        rate: (samples / ms) * 1000,
        stepMs: ms / steps,
        steps,
        waited: waited / ms,
        firstMs: first - begun,
        cores: own / ms,
        others: Math.max(0, (busyMs() - busy - own) / ms),
        cpuMsPerSample: own / samples,
      }
    },
  }
}
