// Does the tuner find what a grid search finds? For each workload: a grid of workers × depth is measured; then runs begin at the
// default and at two bad settings, and train for 60 s; then each end setting and the three best grid points are measured in turns,
// in one process, so that what drifts falls on all of them. `node bench/tune.mjs [--only 'NAME;NAME'] [--workers 1,2,4] [--seconds 60] [--pairs 10] [--out FILE] [--save]`.
// Needs a quiet machine: cores that other programs use meanwhile are told.
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { functionHash } from '../build/core/define/build/call.js'
import { readNotes } from '../build/core/spans/notes.js'
import { HostSampler } from '../build/observe/host/sampler.js'
import { open } from '../dist/index.js'
import { pictures } from './data.mjs'
import { keep, median, stamp } from './support.mjs'

const flag = (name, usual) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? usual : process.argv[at + 1]
}
const SECONDS = Number(flag('seconds', 60))
const PAIRS = Number(flag('pairs', 10))
const ONLY = flag('only', '')
const GRID = { workers: flag('workers', '1,2,3,4,8').split(',').map(Number), depth: [2, 4, 8] }
/** Every figure is written here as soon as it is there. */
const OUT = flag('out', '')
const SETTLE = 400
const TURN = 1000

const never = new Int32Array(new SharedArrayBuffer(4))
const compute = ms => void Atomics.wait(never, 0, 0, ms)

const source = await pictures(4096, 2)
const image = {
  from: 'jpg',
  as: 'image',
  apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
}
const label = { from: 'cls', as: 'int' }
const order = { shuffle: 'global', seed: 7 }
// A function that waits, as one does that asks a server: workers are blocked, not busy.
const waiting = join(tmpdir(), 'millrace-bench-waiting.mjs')
writeFileSync(
  waiting,
  'const w = new Int32Array(new SharedArrayBuffer(4))\nexport const wait = v => { Atomics.wait(w, 0, 0, 1); return v }\n',
)
const { wait } = await import(waiting)
/** Each needs more than one worker on 2 cores, but for the last: there one is enough. */
const WORKLOADS = {
  'jpeg, 8 ms a step': { stepMs: 8, feed: { source, order, fields: { image, label }, batch: 32 } },
  'jpeg, as fast as it goes': { stepMs: 0.5, feed: { source, order, fields: { image, label }, batch: 32 } },
  'a function that waits 1 ms a sample, 5 ms a step': {
    stepMs: 5,
    feed: {
      source,
      order,
      fields: {
        label: { ...label, map: { call: { module: waiting, export: 'wait', hash: functionHash(wait) } } },
      },
      batch: 32,
    },
  },
  'jpeg, 40 ms a step': { stepMs: 40, feed: { source, order, fields: { image, label }, batch: 32 } },
}
const STARTS = {
  default: {},
  '1 worker, depth 1': { workers: 1, depth: 1 },
  '8 workers, depth 8': { workers: 8, depth: 8 },
}

/** A loader, and the trainer that goes on with it. */
class Run {
  constructor({ feed, stepMs }, options) {
    this.loader = open(feed, { ...options, allowCode: true, epochs: null, notice: () => {} })
    this.stepMs = stepMs
  }

  /** Trains for so many ms; returns samples a second. */
  async train(ms) {
    this.loop ??= this.loader[Symbol.asyncIterator]()
    const begun = performance.now()
    let samples = 0
    for (;;) {
      const { value } = await this.loop.next()
      compute(this.stepMs)
      samples += value.samples
      const passed = performance.now() - begun
      if (passed >= ms) return (1000 * samples) / passed
    }
  }

  async at(setting) {
    await this.loader.tune(setting)
    await this.train(SETTLE)
    return this.train(TURN)
  }

  get setting() {
    const { workers, depth } = this.loader.stats()
    return { workers, depth }
  }

  async end() {
    await this.loop?.return()
    await this.loader.close()
  }
}

async function gridOf(workload) {
  const run = new Run(workload, { workers: 1, depth: 2, tune: 'off' })
  await run.loader.ready
  await run.train(1500)
  const points = []
  for (let round = 0; round < 2; round++)
    for (const workers of GRID.workers)
      for (const depth of GRID.depth) {
        const rate = await run.at({ workers, depth })
        const point = points.find(one => one.workers === workers && one.depth === depth)
        if (point) point.rates.push(rate)
        else points.push({ workers, depth, rates: [rate] })
      }
  await run.end()
  return points.map(({ rates, ...at }) => ({ ...at, rate: median(rates) })).sort((a, b) => b.rate - a.rate)
}

async function tuned(workload, start) {
  const from = readNotes(process.pid)?.at(-1)?.number ?? 0
  const run = new Run(workload, { ...start, tune: 'all' })
  await run.loader.ready
  const begun = run.setting
  const rates = []
  for (let second = 0; second < SECONDS; second += 2) rates.push(Math.round(await run.train(2000)))
  const decisions = readNotes(process.pid)
    .filter(note => note.number > from && note.kind === 'tuner')
    .map(({ decision: { event, knob, from, to, reason } }) => ({ event, knob, from, to, reason }))
  const end = settled(run.setting, decisions)
  await run.end()
  return { begun, end, rates, decisions }
}

/** Without what is being tried at the moment. */
function settled(setting, decisions) {
  const last = decisions.findLast(({ event }) => ['tried', 'kept', 'reverted'].includes(event))
  return last?.event === 'tried' && last.knob in setting ? { ...setting, [last.knob]: last.from } : setting
}

/** Ratios of the end setting to each point, over interleaved pairs, with the 95 % interval of the mean logarithm. */
async function beside(workload, end, points) {
  const run = new Run(workload, { ...end, tune: 'off' })
  await run.loader.ready
  await run.train(1500)
  const logs = points.map(() => [])
  for (let pair = 0; pair < PAIRS; pair++)
    for (const [i, { workers, depth }] of points.entries()) {
      const turns = [() => run.at(end), () => run.at({ workers, depth })]
      const [a, b] =
        pair % 2 === 0 ? [await turns[0](), await turns[1]()] : [await turns[1](), await turns[0]()].reverse()
      logs[i].push(Math.log(a / b))
    }
  await run.end()
  return points.map(({ workers, depth }, i) => {
    const mean = logs[i].reduce((sum, x) => sum + x, 0) / PAIRS
    const sd = Math.sqrt(logs[i].reduce((sum, x) => sum + (x - mean) ** 2, 0) / (PAIRS - 1))
    const half = (2.1 * sd) / Math.sqrt(PAIRS)
    return { workers, depth, ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) }
  })
}

const host = new HostSampler({ gpu: false })
const before = host.look()
const result = {
  ...stamp(),
  cache: 'page cache warm',
  command: `node ${['bench/tune.mjs', ...process.argv.slice(2)].join(' ')}`,
  workloads: {},
}
for (const [name, workload] of Object.entries(WORKLOADS)) {
  if (ONLY && !ONLY.split(';').includes(name)) continue
  const grid = await gridOf(workload)
  process.stderr.write(`${name}: best ${JSON.stringify(grid.slice(0, 3))}\n`)
  const starts = {}
  result.workloads[name] = { grid, starts }
  const known = new Map()
  for (const [start, options] of Object.entries(STARTS)) {
    const run = await tuned(workload, options)
    const key = JSON.stringify(run.end)
    if (!known.has(key)) known.set(key, await beside(workload, run.end, grid.slice(0, 3)))
    starts[start] = { ...run, beside: known.get(key) }
    if (OUT) writeFileSync(OUT, JSON.stringify(result, null, 1))
    const least = Math.min(...known.get(key).map(({ low }) => low))
    process.stderr.write(
      `  from ${start}: ${JSON.stringify(run.begun)} to ${key}, lower bound ${least.toFixed(3)}\n`,
    )
  }
}
result.otherCores = host.between(before, host.look()).otherCores
keep('tune', result)
process.exit(0)
