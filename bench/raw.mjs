// Raw 256 × 256 pictures (no decoding), randomResizedCrop(224) + flip, u8 out: FFCV's published setting.
//
//   node bench/raw.mjs [--save] [--rounds 5] [--threads N]
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from '../dist/index.js'
import { TarWriter } from '../dist/prepare/pack/tar-writer.js'
import { usableCores } from '../dist/system/process/limits.js'
import { interleaved, keep, stamp } from './support.mjs'

const option = (name, standard) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const threads = option('threads', usableCores())
const SAMPLES = 4096
const SIDE = 256
const folder = join(tmpdir(), 'millrace-bench-raw')
const shard = join(folder, 'raw-0000.tar')
if (!existsSync(shard)) {
  mkdirSync(folder, { recursive: true })
  const header = "{'descr': '|u1', 'fortran_order': False, 'shape': (256, 256, 3), }"
  const npy = new Uint8Array(128 + SIDE * SIDE * 3)
  npy.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0])
  npy.set(new TextEncoder().encode(`${header.padEnd(117)}\n`), 10)
  const writer = new TarWriter(shard)
  for (let i = 0; i < SAMPLES; i++) {
    for (let at = 128; at < npy.length; at++) npy[at] = (at * 7 + i * 31 + ((at * at) >> 5)) & 255
    writer.add(String(i).padStart(6, '0'), { npy, cls: new TextEncoder().encode(String(i % 10)) })
  }
  writer.close()
}

const feed = layout => ({
  source: { tar: shard },
  order: { shuffle: 'global', seed: 1 },
  fields: {
    image: {
      from: 'npy',
      as: 'image',
      layout,
      apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }],
    },
    label: { from: 'cls', as: 'int' },
  },
  batch: 256,
})

async function fed(layout) {
  const loader = open(feed(layout), { workers: threads, depth: 4, epochs: 4 })
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
