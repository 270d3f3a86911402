// What binding workers to cores brings: one feed of pictures, whose workers are bound and let go in turns while it runs. With a
// trainer process that keeps a core busy, and without; its own rate is measured as well.
//
//   node bench/affinity.mjs [--save] [--pairs 9] [--workers N] [--affinity auto] [--busy 1] [--seconds 2]
//
// --busy: cores that the trainer's process keeps busy. --affinity: what is compared with "off". --workers: by default as many
// as "auto" makes.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { readAffinity } from '../build/core/engine/bind/policy.js'
import { autoWorkers } from '../build/core/system/process/limits.js'
import { open } from '../dist/index.js'
import { pictures } from './data.mjs'
import { pictureFeed } from './loops.mjs'
import { compare } from './pairs/interval.mjs'
import { keep, median, stamp } from './support.mjs'

const { values } = parseArgs({
  options: {
    save: { type: 'boolean' },
    pairs: { type: 'string', default: '9' },
    workers: { type: 'string', default: String(autoWorkers()) },
    affinity: { type: 'string', default: 'auto' },
    busy: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '2' },
  },
})
const [pairs, workers, busy, seconds] = [values.pairs, values.workers, values.busy, values.seconds].map(
  Number,
)

/** How long (ms) a change is given to show: what was made before is used up. */
const SETTLE = 300

/** A thread of the trainer's process: counts in a shared word what it does. */
const STEPS = `
  const { counts, i } = require('node:worker_threads').workerData
  for (let x = 0; ; counts[i]++) for (let k = 0; k < 100_000; k++) x = (Math.imul(x, 1103515245) + 12345) | 0`

/** The trainer's process: one such thread for each core that is kept busy; says how much they have done when it is asked. */
const TRAINER = `
  const { Worker } = require('node:worker_threads')
  const counts = new Int32Array(new SharedArrayBuffer(4 * ${busy}))
  for (let i = 0; i < ${busy}; i++) new Worker(${JSON.stringify(STEPS)}, { eval: true, workerData: { counts, i } })
  process.stdin.on('data', () => console.log(counts.reduce((sum, count) => sum + count, 0)))
  process.stdin.on('end', () => process.exit(0))`

/** A process that computes; `steps()` says how much it has done so far. */
async function startTrainer() {
  const child = spawn(process.execPath, ['-e', TRAINER], { stdio: ['pipe', 'pipe', 'inherit'] })
  const steps = () =>
    new Promise(resolve => {
      child.stdout.once('data', text => resolve(Number(text)))
      child.stdin.write('?')
    })
  await steps()
  return { steps, end: () => child.kill('SIGKILL') }
}

/** Reads batches for a while, and says how many samples came in a second, and how fast the trainer's process was. */
async function turn(run, trainer, binding) {
  await run.binder.bind(binding)
  const until = async ms => {
    const begun = performance.now()
    let samples = 0
    while (performance.now() - begun < ms) {
      const { value } = await run.batches.next()
      samples += value.count
    }
    return (samples / (performance.now() - begun)) * 1000
  }
  await until(SETTLE)
  const [before, begun] = [await trainer?.steps(), performance.now()]
  const samples = await until(1000 * seconds)
  const done = trainer && ((await trainer.steps()) - before) / ((performance.now() - begun) / 1000)
  return { samples, trainer: done }
}

async function measure(source, trainer) {
  const loader = open(pictureFeed(source, 'u8', 64), { workers, epochs: null })
  try {
    await loader.ready
    const run = { binder: loader.supply.feeding.pool.binder, batches: loader[Symbol.asyncIterator]() }
    const bound = readAffinity(values.affinity)
    await turn(run, trainer, 'off')
    const rounds = []
    for (let pair = 0; pair < pairs; pair++) {
      // Whichever comes second is not favoured by what the machine does.
      const order = pair % 2 === 0 ? ['off', bound] : [bound, 'off']
      const got = new Map()
      for (const binding of order) got.set(binding, await turn(run, trainer, binding))
      rounds.push({ off: got.get('off'), bound: got.get(bound) })
      process.stderr.write(
        `pair ${pair + 1}/${pairs}${trainer ? ', busy trainer' : ''}: ${Math.round(rounds.at(-1).off.samples)} off, ` +
          `${Math.round(rounds.at(-1).bound.samples)} bound\n`,
      )
    }
    await run.binder.bind(bound)
    const { places, kept } = run.binder.state
    const rates = name => ({
      off: median(rounds.map(({ off }) => off[name])),
      bound: median(rounds.map(({ bound }) => bound[name])),
      ...compare(rounds.map(({ off, bound }) => bound[name] / off[name])),
    })
    return {
      samplesPerSecond: rates('samples'),
      ...(trainer && { trainer: rates('trainer') }),
      places,
      kept,
      rounds,
    }
  } finally {
    await loader.close()
  }
}

const source = await pictures(4096, 2)
const quiet = await measure(source)
const trainer = await startTrainer()
const beside = await measure(source, trainer).finally(() => trainer.end())
keep('affinity', {
  ...stamp(),
  command: `node bench/affinity.mjs --pairs ${pairs} --workers ${workers} --affinity ${values.affinity} --busy ${busy} --seconds ${seconds}`,
  what: 'images/s of one feed, workers not bound and bound in turns while it runs; ratio is bound / off with its 95 % interval',
  quiet,
  beside,
})
