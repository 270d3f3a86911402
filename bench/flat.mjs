// Memory over 2,000 steps: the slope of resident memory, by least squares over the second half, after warming up.
//
//   node bench/flat.mjs [--save] [--steps 2000]

import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from '../dist/index.js'
import { keep, stamp } from './support.mjs'

const at = process.argv.indexOf('--steps')
const steps = at < 0 ? 2000 : Number(process.argv[at + 1])
const shards = join(tmpdir(), 'millrace-bench-4096', 'bench-*.tar')
if (!existsSync(join(tmpdir(), 'millrace-bench-4096')))
  throw new Error('run bench/throughput.mjs first: it makes the data')
const loader = open(
  {
    source: { tar: shards },
    order: { shuffle: 'global', seed: 1 },
    fields: {
      image: {
        from: 'jpg',
        as: 'image',
        apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
      },
      label: { from: 'cls', as: 'int' },
    },
    batch: 16,
  },
  { workers: 2, depth: 4, steps: 2 * steps },
)
const samples = []
let step = 0
for await (const batch of loader) {
  batch.ids
  if (++step % 50 === 0) {
    globalThis.gc?.()
    samples.push([step, process.memoryUsage.rss() / 1e6])
  }
}
const { budgetBytes, slotBytes } = loader.stats()
await loader.close()
const late = samples.filter(([s]) => s > steps)
const meanX = late.reduce((sum, [x]) => sum + x, 0) / late.length
const meanY = late.reduce((sum, [, y]) => sum + y, 0) / late.length
const slope =
  late.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) /
  late.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
keep('flat', {
  ...stamp(),
  command: `node ${process.execArgv.join(' ')} bench/flat.mjs --steps ${steps}`,
  what: `resident memory over steps ${steps}…${2 * steps}, batch 16 of f32 [3, 224, 224], 2 workers, depth 4`,
  slopeMBPer1000Steps: slope * 1000,
  firstMB: late[0][1],
  lastMB: late.at(-1)[1],
  budgetMB: budgetBytes / 1e6,
  slotMB: slotBytes / 1e6,
  samples: samples.filter((_, i) => i % 8 === 0),
})
