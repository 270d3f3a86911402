// Microseconds of processor time a picture for the main ways through the `place` kernel, as JSON. Run after `npm run build`:
//   node bench/kernels.mjs [--pictures 2000] [--dist build]
// Pictures are written round robin into 64 slots, so that stores go to memory as they do in a batch.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    pictures: { type: 'string', default: '1500' },
    dist: { type: 'string', default: 'build' },
    only: { type: 'string', default: '' },
  },
})
const load = file => import(pathToFileURL(resolve(options.dist, file)).href)
const { placePicture } = await load('transform/place/place.js')
const { compileValues } = await load('transform/place/values.js')
const { Workspace } = await load('system/memory/workspace.js')
const { Random } = await load('basics/random.js')

const SLOTS = 64
const IMAGENET = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }
const whole = size => () => ({ x: 0, y: 0, width: size, height: size })

/** Boxes as randomResizedCrop draws them: 8 to 100 % of the area, aspect 3/4 to 4/3. */
function randomBox(random, size) {
  for (;;) {
    const area = size * size * random.uniform(0.08, 1)
    const ratio = Math.exp(random.uniform(Math.log(3 / 4), Math.log(4 / 3)))
    const width = Math.round(Math.sqrt(area * ratio))
    const height = Math.round(Math.sqrt(area / ratio))
    if (width > size || height > size) continue
    return { x: random.int(size - width + 1), y: random.int(size - height + 1), width, height }
  }
}

const random = new Random().key(1, 0, 0, 0)
const boxes = size => {
  const list = Array.from({ length: 512 }, () => randomBox(random, size))
  return i => list[i % list.length]
}

const cases = []
for (const [name, input, box, output, filter = 'bilinear'] of [
  ['random crop of 224² to 224²', 224, boxes(224), 224],
  ['random crop of 256² to 224²', 256, boxes(256), 224],
  ['random crop of 512² to 224²', 512, boxes(512), 224],
  ['crop 160² to 224²', 224, whole(160), 224],
  ['320² to 224²', 320, whole(320), 224],
  ['1024² to 224²', 1024, whole(1024), 224],
  ['crop 160² to 224², bicubic', 224, whole(160), 224, 'bicubic'],
  ['crop 224² of 256², no resize', 256, whole(224), 224],
]) {
  for (const [dtype, layout] of [
    ['u8', 'hwc'],
    ['u8', 'chw'],
    ['f32', 'chw'],
    ['f32', 'hwc'],
    ['bf16', 'chw'],
  ]) {
    cases.push({ name: `${name}, ${dtype} ${layout}`, input, box, output, filter, dtype, layout })
  }
}

const count = Number(options.pictures)
const results = {}
for (const c of cases.filter(c => c.name.includes(options.only))) results[c.name] = measure(c)
console.log(
  JSON.stringify({ unit: 'µs a picture, median of 5 runs', flip: 'half of them', results }, null, 2),
)

function measure({ input, box, output, filter, dtype, layout }) {
  const work = Workspace.alone(64 << 20)
  const at = work.take(input * input * 3)
  for (let i = 0; i < input * input * 3; i++) work.u8[at + i] = random.bits()
  const source = { at, width: input, height: input, channels: 3, stride: input * 3 }
  const values = compileValues(dtype, 3, dtype === 'u8' ? undefined : IMAGENET)
  const row = output * output * 3 * values.entry
  const slots = work.take(row * SLOTS)
  const size = { width: output, height: output, filter, antialias: true }
  const run = n => {
    for (let i = 0; i < n; i++) {
      const target = { at: slots + (i % SLOTS) * row, layout, values, width: output, height: output }
      placePicture(work, source, box(i), size, { horizontal: i % 2 === 0, vertical: false }, target)
    }
  }
  run(2000) // tables, and the optimising compiler, whose threads count as processor time too
  const times = []
  for (let round = 0; round < 5; round++) {
    const start = process.cpuUsage()
    run(count / 5)
    const { user, system } = process.cpuUsage(start)
    times.push((user + system) / (count / 5))
  }
  return Math.round(times.sort((a, b) => a - b)[2] * 10) / 10
}
