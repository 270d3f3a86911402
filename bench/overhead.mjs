// What the engine itself costs: 4 kB rows that come from memory (no files, no decoding), µs a batch. The bare cost of
// making the same rows, in the same process and round, is measured beside it and taken off.
//
//   node bench/overhead.mjs [--save] [--rounds 5]
import { open } from '../dist/index.js'
import { attachSource, openSource } from '../dist/source/registry.js'
import { memoryFeed, memorySource, ROW, through } from './loops.mjs'
import { interleaved, keep, stamp } from './support.mjs'

const at = process.argv.indexOf('--rounds')
const rounds = at < 0 ? 5 : Number(process.argv[at + 1])
const DEPTH = 8

/** µs a batch through the engine. */
async function engine(batch, workers, steps) {
  const options = { workers, depth: DEPTH, steps: steps + 200, warm: 200 }
  const { ms, rows } = await through(open, memoryFeed(batch), options)
  if (rows !== steps * batch) throw new Error('short batch')
  return (ms / steps) * 1000
}

/** µs to make the rows of a batch and copy them to their place, without an engine. */
async function bare(batch, steps) {
  const opened = attachSource(await openSource(memorySource, { root: '/', wanted: ['data'] }))
  // As many slots as the engine has, in turn: otherwise the bare loop writes to its cache, and the engine to memory.
  const slots = new Uint8Array(new SharedArrayBuffer(DEPTH * batch * ROW))
  const nothing = { ranges: [], units: [] }
  let row = 0
  const begun = performance.now()
  for (let step = 0; step < steps; step++) {
    for (let i = 0; i < batch; i++) {
      const bytes = opened.sample((row = (row * 7919 + 13) % opened.count), 0, ['data'], nothing).data
      slots.set(bytes.subarray(bytes.length - ROW), ((step % DEPTH) * batch + i) * ROW)
    }
  }
  return ((performance.now() - begun) / steps) * 1000
}

const results = await interleaved(
  {
    'bare 1': () => bare(1, 20000),
    'engine 1': () => engine(1, 1, 20000),
    'engine 1, in thread': () => engine(1, 0, 20000),
    'bare 16': () => bare(16, 8000),
    'engine 16': () => engine(16, 1, 8000),
    'bare 256': () => bare(256, 1000),
    'engine 256': () => engine(256, 1, 1000),
  },
  rounds,
)
keep('overhead', {
  ...stamp(),
  command: `node bench/overhead.mjs --rounds ${rounds}`,
  what: 'µs a batch for rows of 4 kB from memory, one worker, depth 8; the bare loop writes to as many slots',
  results,
  overheadMicroseconds: {
    1: results['engine 1'].median - results['bare 1'].median,
    16: results['engine 16'].median - results['bare 16'].median,
    256: results['engine 256'].median - results['bare 256'].median,
  },
})
