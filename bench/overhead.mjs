// What the engine itself costs: 4 kB rows that come from memory (no files, no decoding), µs a batch. The bare cost of
// making the same rows, in the same process and round, is measured beside it and taken off.
//
//   node bench/overhead.mjs [--save] [--rounds 5]
import { open } from '../dist/index.js'
import { attachSource, openSource } from '../dist/source/registry.js'
import { interleaved, keep, stamp } from './support.mjs'

const at = process.argv.indexOf('--rounds')
const rounds = at < 0 ? 5 : Number(process.argv[at + 1])
const ROW = 4096
const DEPTH = 8
const source = { synthetic: { count: 1_000_000, tensors: { shape: [ROW], dtype: 'u8' } } }
const feed = batch => ({
  source,
  order: { shuffle: 'global', seed: 1 },
  fields: { data: { from: 'data', as: 'npy', dtype: 'u8', shape: [ROW] } },
  batch,
})

/** µs a batch through the engine. */
async function through(batch, workers, steps) {
  const loader = open(feed(batch), { workers, depth: DEPTH, steps: steps + 200 })
  let begun = 0
  let seen = 0
  for await (const got of loader) {
    if (seen++ === 200) begun = performance.now()
    if (got.count !== batch) throw new Error('short batch')
  }
  const us = ((performance.now() - begun) / steps) * 1000
  await loader.close()
  return us
}

/** µs to make the rows of a batch and copy them to their place, without an engine. */
async function bare(batch, steps) {
  const opened = attachSource(await openSource(source, { root: '/', wanted: ['data'] }))
  // As many slots as the engine has, in turn: otherwise the bare loop writes to its cache, and the engine to memory.
  const slots = new Uint8Array(new SharedArrayBuffer(DEPTH * batch * ROW))
  let row = 0
  const begun = performance.now()
  for (let step = 0; step < steps; step++) {
    for (let i = 0; i < batch; i++) {
      const bytes = opened.sample((row = (row * 7919 + 13) % opened.count), [], ['data']).data
      slots.set(bytes.subarray(bytes.length - ROW), ((step % DEPTH) * batch + i) * ROW)
    }
  }
  return ((performance.now() - begun) / steps) * 1000
}

const results = await interleaved(
  {
    'bare 1': () => bare(1, 20000),
    'engine 1': () => through(1, 1, 20000),
    'engine 1, in thread': () => through(1, 0, 20000),
    'bare 16': () => bare(16, 8000),
    'engine 16': () => through(16, 1, 8000),
    'bare 256': () => bare(256, 1000),
    'engine 256': () => through(256, 1, 1000),
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
