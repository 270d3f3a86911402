// Throughput against the ceiling: the same threads decoding the same JPEGs fully with TurboJPEG and throwing the
// pixels away. 224² JPEGs of about 30 kB in tar shards, batch 256, page cache warm, interleaved rounds.
//
//   node bench/throughput.mjs [--save] [--rounds 5] [--samples 4096] [--threads N]
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { usableCores } from '../build/core/system/process/limits.js'
import { open } from '../dist/index.js'
import { pictures } from './data.mjs'
import { pictureFeed, through } from './loops.mjs'
import { interleaved, keep, root, stamp } from './support.mjs'

const option = (name, standard) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const rounds = option('rounds', 5)
const samples = option('samples', 4096)
const threads = option('threads', usableCores())
const batch = 256

const source = await pictures(samples, threads)

/** Images per second over two epochs, from the second batch on, so that starting is not counted. */
async function fed(dtype, epochs = 2) {
  const options = { workers: threads, depth: 4, epochs, warm: 1 }
  const { rows, ms } = await through(open, pictureFeed(source, dtype, batch), options)
  return (rows / ms) * 1000
}

/** The ceiling, for as long as the feeds take. */
async function ceiling(seconds = 4) {
  const workers = Array.from(
    { length: threads },
    (_, i) =>
      new Worker(join(root, 'bench/ceiling-worker.mjs'), { workerData: { source, threads, thread: i } }),
  )
  await Promise.all(workers.map(worker => new Promise(resolve => worker.once('message', resolve))))
  for (const worker of workers) worker.postMessage(seconds)
  const rates = await Promise.all(
    workers.map(worker => new Promise(resolve => worker.once('message', resolve))),
  )
  await Promise.all(workers.map(worker => worker.terminate()))
  return rates.reduce((a, b) => a + b, 0)
}

const results = await interleaved(
  {
    ceiling: () => ceiling(),
    u8: () => fed('u8'),
    f32: () => fed('f32'),
  },
  rounds,
)
keep('throughput', {
  ...stamp(),
  command: `node bench/throughput.mjs --rounds ${rounds} --samples ${samples} --threads ${threads}`,
  what: '224² JPEG in tar → randomResizedCrop(224) + flip → u8 chw; the same + normalise → f32 chw; img/s',
  cache: 'page cache warm',
  threads,
  results,
  ratios: {
    u8: results.u8.median / results.ceiling.median,
    f32: results.f32.median / results.ceiling.median,
  },
})
