// Time of each operator on one picture of 224×224, in microseconds: the median of many rounds, on one thread.
//   npm run build && node bench/operators.mjs [--json]
import '../build/all/registry.js'
import { DTYPES } from '../build/core/basics/dtype.js'
import { operatorKey, Random } from '../build/core/basics/random.js'
import { normalOps } from '../build/core/define/operator.js'
import { Workspace } from '../build/core/system/memory/workspace.js'
import { chooseSteps } from '../build/pixels/operators/choose.js'
import { mixRows } from '../build/pixels/operators/mix/mix.js'
import { mosaicRows } from '../build/pixels/operators/mosaic/mosaic.js'
import { applyErase } from '../build/pixels/operators/randomErasing/step.js'
import { applyStep } from '../build/pixels/operators/steps.js'

const SIDE = 224
const ROUNDS = 31
const PER_ROUND = 20 // pictures a round, so that the clock's grain does not matter

const work = Workspace.alone(64 << 20)
const stride = SIDE * 3
const at = work.take(stride * SIDE)
const noise = new Random().key(1, 0, 0, 0)
for (let y = 0; y < SIDE; y++)
  for (let i = 0; i < stride; i++)
    work.u8[at + y * stride + i] = 128 + 60 * Math.sin(i / 40) + 40 * Math.cos(y / 17) + 20 * noise.next()
const picture = { at, width: SIDE, height: SIDE, channels: 3, stride }
const pixels = work.u8.slice(at, at + stride * SIDE)

/** Median microseconds of one call. */
function time(call) {
  const times = []
  for (let round = -5; round < ROUNDS; round++) {
    work.u8.set(pixels, at)
    const start = performance.now()
    for (let i = 0; i < PER_ROUND; i++) call()
    if (round >= 0) times.push(((performance.now() - start) * 1000) / PER_ROUND)
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1]
}

/** A call without lasting use of the workspace. */
function scratch(call) {
  return () => {
    const mark = work.mark()
    call()
    work.release(mark)
  }
}

const results = {}
const color = (name, step) => {
  results[name] = time(scratch(() => applyStep(step, picture, work)))
}
color('brightness', { do: 'brightness', factor: 1.01 })
color('contrast', { do: 'contrast', factor: 1.01 })
color('saturation', { do: 'saturation', factor: 1.01 })
color('hue', { do: 'hue', factor: 0.01 })
color('grayscale', { do: 'grayscale' })
color('autocontrast', { do: 'autocontrast' })
color('equalize', { do: 'equalize' })
color('invert', { do: 'invert' })
color('permute', { do: 'permute', order: [2, 0, 1] })
color('posterize', { do: 'posterize', bits: 4 })
color('solarize', { do: 'solarize', threshold: 128 })
color('sharpness', { do: 'sharpness', factor: 1.5 })
for (const kernel of [3, 5, 23])
  color(`gaussianBlur ${kernel}`, { do: 'blur', kernelX: kernel, kernelY: kernel, sigmaX: 1, sigmaY: 1 })

const turn = Math.PI / 12
const matrix = [Math.cos(turn), Math.sin(turn), 0, -Math.sin(turn), Math.cos(turn), 0]
for (const filter of ['nearest', 'bilinear']) {
  const step = { do: 'affine', matrix, width: SIDE, height: SIDE, filter, fill: [0] }
  results[`affine ${filter}`] = time(scratch(() => applyStep(step, picture, work)))
  const coefficients = [1.1, 0.05, -9, 0.02, 1.2, -7, 0.0002, 0.0003]
  const tilt = { do: 'perspective', coefficients, filter, fill: [0] }
  results[`perspective ${filter}`] = time(scratch(() => applyStep(tilt, picture, work)))
}
for (const sigma of [2, 5]) {
  const step = {
    do: 'elastic',
    seed: 1,
    alpha: [50, 50],
    sigma: [sigma, sigma],
    filter: 'bilinear',
    fill: [0],
  }
  results[`elastic, sigma ${sigma}`] = time(scratch(() => applyStep(step, picture, work)))
}
for (const mode of ['constant', 'reflect']) {
  const step = { do: 'pad', left: 16, top: 16, right: 16, bottom: 16, mode, fill: [0] }
  results[`pad ${mode}`] = time(scratch(() => applyStep(step, picture, work)))
}

const row = work.take(SIDE * SIDE * 3 * 4)
for (const value of [[0], 'random']) {
  const step = { do: 'erase', x: 50, y: 50, width: 80, height: 80, value, seed: 1 }
  results[`erase 80×80 ${value}`] = time(() => applyErase(step, row, 'chw', 'f32', SIDE, SIDE, work.memory))
}

// A batch of 8, time for one picture.
for (const dtype of ['f32', 'f16', 'bf16', 'u8']) {
  const rowBytes = SIDE * SIDE * 3 * DTYPES[dtype].bytes
  const mark = work.mark()
  const rows = {
    ...{
      memory: work.memory,
      count: 8,
      dtype,
      layout: 'chw',
      shape: [3, SIDE, SIDE],
      rowBytes,
      classes: 1000,
    },
    ...{
      imageAt: work.take(rowBytes * 8),
      labelAt: work.take(8 * 4000),
      spareAt: work.take(rowBytes + 4096),
    },
  }
  results[`mixup ${dtype}`] = time(() => mixRows({ share: 0.7 }, rows)) / 8
  const box = { x: 40, y: 30, width: 100, height: 120 }
  if (dtype === 'f32') results['cutmix f32'] = time(() => mixRows({ share: 0.7, box }, rows)) / 8
  if (dtype === 'f32') {
    const mosaic = { seed: 1, threshold: 0xffffffff, x: [56, 168], y: [56, 168] }
    const where = {
      memory: work.memory,
      count: 8,
      at: rows.imageAt,
      rowBytes,
      spareAt: work.take(3 * rowBytes),
    }
    const size = { width: SIDE, height: SIDE, planes: 3, pixelBytes: 4 }
    results['mosaic f32'] = time(() => mosaicRows(mosaic, { ...where, ...size })) / 8
  }
  work.release(mark)
}

const ops = normalOps(
  [
    { randomResizedCrop: 224 },
    { flip: 0.5 },
    { colorJitter: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 } },
    { normalize: 'imagenet' },
  ],
  'apply',
)
const random = new Random()
let position = 0
results['choosing four operators'] = time(() => {
  const p = position++
  chooseSteps(ops, { width: 500, height: 375 }, op =>
    random.key(1, 0, p, operatorKey('image', op.name, op.ordinal)),
  )
})

if (process.argv.includes('--json')) console.log(JSON.stringify(results))
else
  for (const [name, us] of Object.entries(results))
    console.log(`${name.padEnd(26)}${us.toFixed(1).padStart(9)} µs`)
