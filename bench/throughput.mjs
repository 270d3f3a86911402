// Throughput against the ceiling: the same threads decoding the same JPEGs fully with TurboJPEG and throwing the
// pixels away. 224² JPEGs of about 30 kB in tar shards, batch 256, page cache warm, interleaved rounds.
//
//   node bench/throughput.mjs [--save] [--rounds 5] [--samples 4096] [--threads N]
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { open } from '../dist/index.js'
import { pack } from '../dist/prepare/pack/pack.js'
import { usableCores } from '../dist/system/process/limits.js'
import { interleaved, keep, root, stamp } from './support.mjs'

const option = (name, standard) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const rounds = option('rounds', 5)
const samples = option('samples', 4096)
const threads = option('threads', usableCores())
const batch = 256

const folder = join(tmpdir(), `millrace-bench-${samples}`)
if (!existsSync(join(folder, 'bench-shards.json'))) {
  const source = {
    synthetic: { count: samples, images: { width: 224, height: 224, quality: 90, classes: 1000 } },
  }
  await pack(source, { out: folder, prefix: 'bench', division: { shards: 4 }, workers: threads })
}
const source = { tar: join(folder, 'bench-*.tar') }
const crop = [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }]
const feed = fields => ({ source, order: { shuffle: 'global', seed: 1 }, fields, batch })
const label = { from: 'cls', as: 'int' }

/** Images per second over two epochs, from the second batch on, so that starting is not counted. */
async function fed(definition, epochs = 2) {
  const loader = open(definition, { workers: threads, depth: 4, epochs })
  let begun = 0
  let rows = 0
  for await (const got of loader) {
    if (begun === 0) begun = performance.now()
    else rows += got.count
  }
  const rate = (rows / (performance.now() - begun)) * 1000
  await loader.close()
  return rate
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
    u8: () => fed(feed({ image: { from: 'jpg', as: 'image', apply: crop }, label })),
    f32: () =>
      fed(feed({ image: { from: 'jpg', as: 'image', apply: [...crop, { normalize: 'imagenet' }] }, label })),
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
