// Raw 256 × 256 pictures (no decoding), randomResizedCrop(224) + flip, u8 out: FFCV's published setting.
//
//   node bench/raw.mjs [--save] [--rounds 5] [--threads N]
import { open } from '../dist/index.js'
import { usableCores } from '../dist/system/process/limits.js'
import { rawPictures } from './data.mjs'
import { rawFeed } from './loops.mjs'
import { interleaved, keep, stamp } from './support.mjs'

const option = (name, standard) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const threads = option('threads', usableCores())
const source = rawPictures()

async function fed(layout) {
  const loader = open(rawFeed(source, layout, 256), { workers: threads, depth: 4, epochs: 4 })
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

const rounds = option('rounds', 5)
const results = await interleaved({ chw: () => fed('chw'), hwc: () => fed('hwc') }, rounds)
keep('raw', {
  ...stamp(),
  command: `node bench/raw.mjs --rounds ${rounds} --threads ${threads}`,
  what: 'raw 256² u8 → randomResizedCrop(224) + flip → u8, batch 256, img/s over all threads',
  cache: 'page cache warm',
  threads,
  results,
  perCore: { chw: results.chw.median / threads, hwc: results.hwc.median / threads },
})
