// Cases for check_kernels.py: kernel launches with the rows that a maker writes, and the bytes that the CPU makes of the
// same definitions. Small pictures, every op, every dtype, both layouts, all orientations; and rows to be timed.
//   npm run build && node bench/gpu/kernel-cases.mjs FOLDER
import '../../build/all/registry.js'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DTYPES } from '../../build/core/basics/dtype.js'
import { Random } from '../../build/core/basics/random.js'
import { normalOps } from '../../build/core/define/operator.js'
import { Workspace } from '../../build/core/system/memory/workspace.js'
import { image } from '../../build/pixels/kinds/picture.js'
import { chooseSteps } from '../../build/pixels/operators/choose.js'
import { mosaicRows } from '../../build/pixels/operators/mosaic/mosaic.js'
import { OPERATORS } from '../../build/pixels/operators/registry.js'
import { OP_CODES, sizeAfter } from '../../build/pixels/operators/steps.js'
import { mosaicWords, RowWriter, writeMix } from '../../build/pixels/transform/device/parameter-row.js'
import { Form, HEADER_WORDS, OP_WORDS, Word } from '../../build/pixels/transform/device/parameter-words.js'
import { pictureOps, writePictureRow } from '../../build/pixels/transform/device/picture-ops.js'
import { compileImage } from '../../build/pixels/transform/picture/image.js'
import { compileValues } from '../../build/pixels/transform/place/values.js'
import { importSource } from '../../scripts/import-source.mjs'
import { DTYPE_CODES, input, launch, number, output, pictureArguments } from './launch.mjs'

const { upright } = await importSource('packages/pixels/test/transform/twins/frame.ts')
const { mixBf16, mixF16, mixF32, mixU8 } = await importSource('packages/pixels/test/transform/twins/mix.ts')

const ROWS = 16 // of a launch
const MOST_OPS = 16
const [WIDTH, HEIGHT] = [26, 21] // of finished rows
const FLOATS = ['f16', 'bf16', 'f32', 'f64']
const { dtypes } = image.rules

const folder = process.argv[2]
if (folder === undefined) throw new Error('say where to: node bench/gpu/kernel-cases.mjs FOLDER')
mkdirSync(folder, { recursive: true })
const random = new Random().key(2026, 0, 0, 0)
const some = list => list[random.int(list.length)]
const between = (low, high) => low + random.int(high - low + 1)

// ---------------------------------------------------------------- definitions

const filters = ['nearest', 'bilinear', 'bicubic']
const warps = ['nearest', 'bilinear']
const fills = [0, [7, 0, 255], 130]
const modes = ['constant', 'edge', 'reflect', 'symmetric']

const before = [
  () => ({
    pad: {
      padding: [between(0, 9), between(0, 9), between(0, 9), between(0, 9)],
      mode: some(modes),
      fill: some(fills),
    },
  }),
  () => ({ flip: { p: 1, axis: some(['horizontal', 'vertical']) } }),
  () => ({ rotate: { degrees: 180, filter: some(warps), fill: some(fills) } }),
  () => ({
    resize: { size: [between(1, 60), between(1, 60)], filter: some(filters), antialias: some([true, false]) },
  }),
]
/** Each leaves a picture of the size asked for. */
const sizing = [
  size => ({ resize: { size, filter: some(filters), antialias: some([true, false]) } }),
  size => ({ randomResizedCrop: { size, filter: some(filters), antialias: some([true, false]) } }),
  size => ({
    randomCrop: { size, padding: between(0, 5), padIfNeeded: true, mode: some(modes), fill: some(fills) },
  }),
  size => ({ centerCrop: size }),
]
const after = [
  () => ({ flip: { p: 1, axis: some(['horizontal', 'vertical']) } }),
  () => ({
    affine: {
      degrees: 40,
      translate: [0.3, 0.3],
      scale: [0.4, 2.5],
      shear: 20,
      filter: some(warps),
      fill: some(fills),
    },
  }),
  () => ({ perspective: { distortion: random.next(), p: 1, filter: some(warps), fill: some(fills) } }),
  () => ({
    elastic: { alpha: 60, sigma: some([0, 1.5, [0.5, 4]]), filter: some(warps), fill: some(fills) },
  }),
  () => ({ colorJitter: { brightness: 0.6, contrast: 0.6, saturation: 0.9, hue: 0.5 } }),
  () => ({ gaussianBlur: { kernel: [some([1, 3, 9, 23]), some([1, 3, 9, 23])], sigma: [0.2, 5] } }),
  () => some([{ grayscale: 1 }, { autocontrast: 1 }, { equalize: 1 }, { invert: 1 }, { trivialAugment: {} }]),
  () =>
    some([
      { randAugment: { fill: some(fills) } },
      { autoAugment: 'cifar10' },
      { photometricDistort: { p: 0.8 } },
    ]),
  () => ({ posterize: { bits: between(0, 8), p: 1 } }),
  () => ({ solarize: { threshold: random.uniform(0, 256), p: 1 } }),
  () => ({ sharpness: { factor: random.uniform(0, 3), p: 1 } }),
]
// And each operator of colours by its example, so that none is left out.
for (const { stage, colors, example } of Object.values(OPERATORS))
  if (stage === 'pixels' && colors) after.push(() => example)
const times = (most, make) => Array.from({ length: between(0, most) }, make)

function definition(dtype, position) {
  const size = position % 5 === 4 ? [between(1, HEIGHT), between(1, WIDTH)] : [HEIGHT, WIDTH]
  const colours = dtype === 'f64' ? [0.1, [-1.7, 300, 2 / 3]] : ['random', 'random', 0.1, [-1.7, 300, 2 / 3]]
  return [
    ...times(2, () => some(before)()),
    some(sizing)(size),
    ...times(3, () => some(after)()),
    ...(FLOATS.includes(dtype) ? [{ normalize: 'imagenet' }] : []),
    ...times(2, () => ({ randomErasing: { p: 1, value: some(colours) } })),
  ]
}

// ---------------------------------------------------------------- rows

const writer = new RowWriter()
const memory = new WebAssembly.Memory({ initial: 1 })

/** The parameter row of a picture that is decoded already. */
function parameterRow(steps, stored) {
  const { width, height, orientation } = stored
  const [upWidth, upHeight] = orientation < 5 ? [width, height] : [height, width]
  const plan = pictureOps(steps, upWidth, upHeight)
  const words = new Uint32Array(memory.buffer, 0, HEADER_WORDS + MOST_OPS * OP_WORDS).fill(0)
  const row = { form: Form.Pixels, bytes: width * height * 3, stored, plan, steps }
  const ops = writePictureRow(writer, memory, 0, row)
  if (ops > MOST_OPS) throw new Error(`${ops} ops: raise MOST_OPS`)
  return words.slice()
}

function npy(height, width, pixels) {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${height}, ${width}, 3), }\n`
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.alloc(2), Buffer.from(text)])
  head.writeUInt16LE(text.length, 8)
  return Buffer.concat([head, pixels])
}

/** What the CPU makes of a picture, and the row with which the device should make the same. */
function pictureCase(dtype, layout, position) {
  const [width, height] = [between(1, 48), between(1, 48)]
  const apply = normalOps(definition(dtype, position), '')
  const keyed = op => new Random().key(7, 0, position, op.ordinal + 13 * apply.indexOf(op))
  const steps = chooseSteps(apply, { width, height }, keyed)
  const shape = layout === 'chw' ? [3, HEIGHT, WIDTH] : [HEIGHT, WIDTH, 3]
  const field = {
    ...{ name: 'image', from: ['jpg'], as: 'image', apply, scale: 1, minArea: 0 },
    layout: { name: 'image', dtype, shape, form: 'dense', layout },
  }
  const few = random.next() < 0.3 // colours: what histograms find hard
  const pixels = Uint8Array.from({ length: width * height * 3 }, () =>
    few && random.next() < 0.95 ? 77 : random.bits(),
  )
  const work = Workspace.alone(1 << 20)
  const bytes = 3 * WIDTH * HEIGHT * DTYPES[dtype].bytes
  const at = work.take(bytes)
  const context = { work, chosen: new Map(), random: (_, op) => keyed(op) }
  compileImage(field).run(npy(height, width, pixels), at, context)
  const orientation = 1 + (position % 8)
  const back = orientation === 6 ? 8 : orientation === 8 ? 6 : orientation
  const stored = upright({ data: pixels, width, height, channels: 3 }, back)
  const row = parameterRow(steps, { ...stored, orientation })
  return { row, stored: stored.data, finished: work.u8.slice(at, at + bytes) }
}

// ---------------------------------------------------------------- launches

const launches = []
const expected = []
const names = []
const codes = new Set()

function add(name, bytes, wanted) {
  names.push(name)
  launches.push(bytes)
  expected.push(wanted)
}

const IMAGENET = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }
const lookupOf = dtype => compileValues(dtype, 3, FLOATS.includes(dtype) ? IMAGENET : undefined).lookup

for (const [i, dtype] of dtypes.entries())
  for (const layout of ['chw', 'hwc']) {
    const cases = Array.from({ length: ROWS }, (_, k) => pictureCase(dtype, layout, i * 100 + k))
    const { bytes } = DTYPES[dtype]
    const form = { dtype, layout, width: WIDTH, height: HEIGHT, lookup: lookupOf(dtype), bytes }
    const nothing = new Uint32Array(cases[0].row.length)
    const rows = [...cases.map(({ row }) => row), nothing]
    const pictures = [...cases.map(({ stored }) => stored), undefined]
    const blocks = some([1, 3, 17])
    const threads = some([32, 100, 256, 512, 1024])
    const wanted = Buffer.concat([
      ...cases.map(({ finished }) => finished),
      Buffer.alloc(cases[0].finished.length),
    ])
    add(
      `picture ${dtype} ${layout}, ${blocks} blocks of ${threads}`,
      launch('picture', blocks, threads, pictureArguments(rows, pictures, form)),
      wanted,
    )
    for (const { row } of cases)
      for (let op = 0; op < row[Word.Ops]; op++) codes.add(row[HEADER_WORDS + op * OP_WORDS])
  }
const missing = Object.entries(OP_CODES).filter(([, code]) => !codes.has(code))
if (missing.length > 0) throw new Error(`no case has ${missing.map(([name]) => name).join(', ')}`)

/** Rows that are finished: bytes, as elements that are numbers. */
function finishedRows(dtype, count) {
  const { array: View } = DTYPES[dtype]
  const lookup = new View(lookupOf(dtype).slice().buffer)
  return View.from({ length: count * 3 * WIDTH * HEIGHT }, () => lookup[random.int(768)])
}

function mixCase(dtype, layout, mixing) {
  const count = 5
  const elements = 3 * WIDTH * HEIGHT
  const from = finishedRows(dtype, count)
  const to = from.slice()
  const header = new Uint32Array(HEADER_WORDS)
  const floats = new Float32Array(header.buffer)
  header.set([mixing.box ? 2 : 1], Word.Mix + 6)
  floats[Word.Mix + 7] = mixing.share
  if (mixing.box) header.set(mixing.box, Word.Mix + 8)
  else floats[Word.Mix + 8] = 1 - mixing.share
  for (let row = 0; row < count; row++) {
    const own = to.subarray(row * elements, (row + 1) * elements)
    const partner = (row + count - 1) % count
    const other = from.subarray(partner * elements, (partner + 1) * elements)
    if (mixing.box) {
      const [x, y, width, height] = mixing.box
      for (let line = y; line < y + height; line++)
        for (let column = x; column < x + width; column++)
          for (let c = 0; c < 3; c++) {
            const at =
              layout === 'chw' ? (c * HEIGHT + line) * WIDTH + column : (line * WIDTH + column) * 3 + c
            own[at] = other[at]
          }
    } else ({ u8: mixU8, f16: mixF16, bf16: mixBf16, f32: mixF32 })[dtype](own, other, mixing.share)
  }
  const args = [input(header), number(1), number(count), input(from), output(from.byteLength)]
  const form = [number(DTYPE_CODES[dtype]), number(layout === 'hwc' ? 1 : 0), number(WIDTH), number(HEIGHT)]
  add(`mix ${dtype} ${layout}`, launch('mix', 3, 96, [...args, ...form]), Buffer.from(to.buffer))
}
for (const dtype of ['u8', 'f16', 'bf16', 'f32']) mixCase(dtype, 'chw', { share: random.next() })
for (const dtype of ['u8', 'f16', 'f32', 'f64'])
  for (const layout of ['chw', 'hwc']) mixCase(dtype, layout, { share: 0.5, box: [3, 4, 11, 9] })

/** Each row of four, as the CPU puts them together. */
function mosaicCase(dtype, layout) {
  const count = 6
  const from = finishedRows(dtype, count)
  const { bytes } = DTYPES[dtype]
  const rowBytes = 3 * WIDTH * HEIGHT * bytes
  const memory = new WebAssembly.Memory({ initial: 8, maximum: 8, shared: true })
  new Uint8Array(memory.buffer).set(new Uint8Array(from.buffer))
  const mosaic = { seed: 5, threshold: 0xd0000000, x: [4, 20], y: [0, 21] }
  const [planes, pixelBytes] = layout === 'chw' ? [3, bytes] : [1, 3 * bytes]
  const where = { memory, count, at: 0, rowBytes, spareAt: 393216 }
  mosaicRows(mosaic, { ...where, width: WIDTH, height: HEIGHT, planes, pixelBytes })
  const header = new WebAssembly.Memory({ initial: 1 })
  writeMix(header, 0, HEADER_WORDS * 4, 1, mosaicWords(mosaic))
  const words = new Uint32Array(header.buffer, 0, HEADER_WORDS).slice()
  const args = [input(words), number(0), number(count), input(from), output(from.byteLength)]
  const form = [number(DTYPE_CODES[dtype]), number(layout === 'hwc' ? 1 : 0), number(WIDTH), number(HEIGHT)]
  const wanted = Buffer.from(new Uint8Array(memory.buffer).slice(0, from.byteLength))
  add(`mosaic ${dtype} ${layout}`, launch('mix', 3, 96, [...args, ...form]), wanted)
}
for (const dtype of ['u8', 'f16', 'f32', 'f64'])
  for (const layout of ['chw', 'hwc']) mosaicCase(dtype, layout)

// Random123's known answers for Philox 4×32-10.
const ones = 0xffffffff
const vectors = [
  [0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
  [ones, ones, ones, ones, ones, ones, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  [
    0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
    0x5001e420, 0x24126ea1,
  ],
]
add(
  'philox',
  launch('philox', 1, 32, [
    input(Uint32Array.from(vectors.flatMap(words => words.slice(0, 6)))),
    ...[number(vectors.length), output(vectors.length * 16)],
  ]),
  Buffer.from(Uint32Array.from(vectors.flatMap(words => words.slice(6))).buffer),
)

const sizes = expected.map(bytes => bytes.length)
writeFileSync(join(folder, 'cases.bin'), Buffer.concat(launches))
writeFileSync(join(folder, 'expected.bin'), Buffer.concat(expected))

// ---------------------------------------------------------------- rows to be timed; their pictures are anything

const simclr = [
  { randomResizedCrop: { size: 224 } },
  { flip: { p: 0.5 } },
  { colorJitter: { brightness: 0.8, contrast: 0.8, saturation: 0.8, hue: 0.2 } },
  { grayscale: { p: 0.2 } },
  { gaussianBlur: { kernel: 23, sigma: [0.1, 2] } },
]
const usual = [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }]
const warped = [{ randomResizedCrop: { size: 224 } }, { perspective: { p: 1 } }, { elastic: {} }]
const timed = [
  { name: '224x224 crop flip f32 chw', width: 224, height: 224, apply: usual, dtype: 'f32', layout: 'chw' },
  { name: '224x224 crop flip bf16 hwc', width: 224, height: 224, apply: usual, dtype: 'bf16', layout: 'hwc' },
  { name: '500x375 crop flip f32 chw', width: 500, height: 375, apply: usual, dtype: 'f32', layout: 'chw' },
  { name: '224x224 simclr f32 chw', width: 224, height: 224, apply: simclr, dtype: 'f32', layout: 'chw' },
  {
    name: '224x224 perspective elastic',
    width: 224,
    height: 224,
    apply: warped,
    dtype: 'f32',
    layout: 'chw',
  },
]
const benches = timed.map(({ name, width, height, apply, dtype, layout }, i) => {
  const ops = normalOps(apply, '')
  const rows = Array.from({ length: 256 }, (_, position) => {
    const keyed = op => new Random().key(1, 0, position, op.ordinal + 13 * ops.indexOf(op))
    const steps = chooseSteps(ops, { width, height }, keyed)
    let end = { width, height }
    for (const step of steps) end = sizeAfter(step, end)
    return parameterRow(steps, { width, height, orientation: 1 })
  })
  const form = { dtype, layout, width: 224, height: 224, lookup: lookupOf(dtype), bytes: DTYPES[dtype].bytes }
  const file = `bench-${i}.bin`
  const pictures = rows.map(() => undefined)
  writeFileSync(join(folder, file), launch('picture', 1, 512, pictureArguments(rows, pictures, form)))
  return { name, file, pictureBytes: width * height * 3 }
})
writeFileSync(join(folder, 'cases.json'), `${JSON.stringify({ names, sizes, benches }, null, 1)}\n`)
console.log(
  `${names.length} launches, ${Buffer.concat(launches).length + sizes.reduce((a, b) => a + b)} bytes`,
)
