/**
 * A tiny trainer in Node that can be stopped anywhere and goes on exactly where it was.
 *
 *   node examples/train.mjs                         trains for 3 epochs, keeping its state in train.state.json
 *   node examples/train.mjs --stop-after 20         stops after 20 steps, as if it had been killed …
 *   node examples/train.mjs --workers 0             … and goes on from there, with other workers, to the same result
 *   options: --workers N, --stop-after STEPS, --state FILE, --fresh
 *
 * It learns to tell whether the left half of a picture is brighter than the right one: logistic regression over
 * 16 × 16 pixels. Weights and the state of the feed are saved together, so that they always agree.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { feed, image, open, shuffle, synthetic } from 'millrace'

const { values: options } = parseArgs({
  options: {
    workers: { type: 'string', default: 'auto' },
    'stop-after': { type: 'string', default: 'Infinity' },
    state: { type: 'string', default: join(import.meta.dirname, 'train.state.json') },
    fresh: { type: 'boolean', default: false },
  },
})

const EPOCHS = 3
const SIDE = 16
const SAVE_EVERY = 5 // steps
const RATE = 0.5

const pictures = feed({
  source: synthetic({ count: 1000, images: { width: 64, height: 64 } }),
  order: shuffle({ seed: 7 }),
  fields: { image: image('jpg').randomResizedCrop(SIDE).flip().grayscale().normalize('half') },
  batch: 32,
})

if (options.fresh) rmSync(options.state, { force: true })
const saved = existsSync(options.state) ? JSON.parse(readFileSync(options.state, 'utf8')) : undefined
const weights = Float64Array.from(saved?.weights ?? new Array(SIDE * SIDE).fill(0))

/** By rename: a kill in the middle leaves the old file whole. */
function save(state) {
  writeFileSync(`${options.state}.new`, JSON.stringify({ weights: [...weights], state }))
  renameSync(`${options.state}.new`, options.state)
}

/** One step of gradient descent over a batch f32 [n, 3, SIDE, SIDE], of which the first channel is used. */
function step({ image, count }) {
  const pixels = SIDE * SIDE
  const gradient = new Float64Array(pixels)
  let loss = 0
  for (let row = 0; row < count; row++) {
    const x = image.subarray(row * 3 * pixels, row * 3 * pixels + pixels)
    const difference = x.reduce((sum, value, i) => sum + (i % SIDE < SIDE / 2 ? value : -value), 0)
    const wanted = difference > 0 ? 1 : 0
    const said = 1 / (1 + Math.exp(-x.reduce((sum, value, i) => sum + weights[i] * value, 0)))
    loss -= Math.log(Math.max(1e-12, wanted === 1 ? said : 1 - said)) / count
    x.forEach((value, i) => {
      gradient[i] += ((said - wanted) * value) / count
    })
  }
  gradient.forEach((value, i) => {
    weights[i] -= RATE * value
  })
  return loss
}

const loader = open(pictures, {
  workers: options.workers === 'auto' ? 'auto' : Number(options.workers),
  state: saved?.state,
})
await loader.ready
let { epoch } = loader.state()
let steps = 0
while (epoch < EPOCHS && steps < Number(options['stop-after'])) {
  let loss = 0
  for await (const batch of loader) {
    loss = step(batch)
    if (++steps % SAVE_EVERY === 0) save(loader.state())
    if (steps >= Number(options['stop-after'])) break
  }
  epoch = loader.state().epoch
  save(loader.state())
  console.log(`epoch ${epoch}, ${steps} steps in this run, loss ${loss.toFixed(4)}`)
}
await loader.close()
const digest = createHash('sha256').update(new Uint8Array(weights.buffer)).digest('hex').slice(0, 16)
console.log(epoch < EPOCHS ? 'stopped; run again to go on' : `done; weights ${digest}`)
