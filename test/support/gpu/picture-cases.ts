/**
 * Pictures with something to be done to them: random definitions, sizes and orientations; the steps that they choose;
 * their parameter rows; and what the CPU makes of them.
 */
import fc from 'fast-check'
import { DTYPES, type Dtype } from '../../../packages/core/basics/dtype.js'
import { Random } from '../../../packages/core/basics/random.js'
import { normalOps } from '../../../packages/core/define/operator.js'
import type { NormalField, NormalOp, OpJson } from '../../../packages/core/define/types.js'
import { Workspace } from '../../../packages/core/system/memory/workspace.js'
import { image as imageKind } from '../../../packages/pixels/kinds/picture.js'
import { chooseSteps } from '../../../packages/pixels/operators/choose.js'
import { OPERATORS } from '../../../packages/pixels/operators/registry.js'
import type { Step } from '../../../packages/pixels/operators/steps.js'
import { sizeAfter } from '../../../packages/pixels/operators/steps.js'
import { upright } from '../../../packages/pixels/test/transform/twins/frame.js'
import type { FinishedForm } from '../../../packages/pixels/test/transform/twins/picture.js'
import { RowWriter } from '../../../packages/pixels/transform/device/parameter-row.js'
import { Form, HEADER_WORDS, OP_WORDS } from '../../../packages/pixels/transform/device/parameter-words.js'
import { pictureOps, writePictureRow } from '../../../packages/pixels/transform/device/picture-ops.js'
import { compileImage } from '../../../packages/pixels/transform/picture/image.js'
import { compileValues, type Statistics } from '../../../packages/pixels/transform/place/values.js'
import { npyOf } from '../npy.js'

export interface PictureCase {
  row: Uint32Array
  /** As a decoder would leave it: not yet upright. */
  stored: Uint8Array
  form: FinishedForm
  steps: readonly Step[]
  /** The finished row as the CPU makes it. */
  finished: Uint8Array
}

const side = fc.integer({ min: 1, max: 40 })
const shares = fc.double({ min: 0.05, max: 1, noNaN: true })
const filter = fc.constantFrom('nearest', 'bilinear', 'bicubic')
const warpFilter = fc.constantFrom('nearest', 'bilinear')
const size = fc.tuple(side, side)
const fill = fc.constantFrom<number | number[]>(0, [7, 0, 255], 130)
const mode = fc.constantFrom('constant', 'edge', 'reflect', 'symmetric')
const borders = fc.tuple(...[0, 1, 2, 3].map(() => fc.integer({ min: 0, max: 9 })))
const odd = fc.integer({ min: 0, max: 9 }).map(n => 2 * n + 1)

/** One operator, on pixels. */
const pixelOperator = fc.oneof(
  fc.record({ resize: fc.record({ size, filter, antialias: fc.boolean() }) }),
  fc.record({ centerCrop: size }),
  fc.record({
    randomCrop: fc.record({ size, padding: borders, padIfNeeded: fc.constant(true), mode, fill }),
  }),
  fc.record({
    randomResizedCrop: fc.record({
      size,
      filter,
      antialias: fc.boolean(),
      scale: shares.map(s => [s, 1]),
    }),
  }),
  fc.record({ pad: fc.record({ padding: borders, mode, fill }) }),
  fc.record({ flip: fc.record({ axis: fc.constantFrom('horizontal', 'vertical'), p: fc.constant(0.8) }) }),
  fc.record({ rotate: fc.record({ degrees: fc.constant(180), filter: warpFilter, fill }) }),
  fc.record({
    affine: fc.record({
      degrees: fc.constant(40),
      translate: fc.constant([0.3, 0.3]),
      scale: fc.constant([0.4, 2.5]),
      shear: fc.constant(20),
      filter: warpFilter,
      fill,
    }),
  }),
  fc.constantFrom(
    { zoomOut: { sides: [1, 2], fill: 7 } },
    { scaleJitter: { size: [30, 40], scale: [0.2, 1.5] } },
  ),
  fc.record({ perspective: fc.record({ distortion: shares, p: fc.constant(1), filter: warpFilter, fill }) }),
  fc.record({
    elastic: fc.record({
      alpha: fc.constant([40, 90]),
      sigma: fc.constantFrom([0, 0], [0.5, 1.5], [2, 2]),
      filter: warpFilter,
      fill,
    }),
  }),
  fc.record({
    colorJitter: fc.constant({ brightness: 0.6, contrast: 0.6, saturation: 0.9, hue: 0.5 }),
  }),
  fc.record({ gaussianBlur: fc.record({ kernel: fc.tuple(odd, odd), sigma: fc.constant([0.2, 5]) }) }),
  fc.constantFrom(
    ...[{ grayscale: 1 }, { autocontrast: 1 }, { equalize: 1 }, { invert: 1 }, { trivialAugment: {} }],
  ),
  fc.constantFrom(
    ...[{ randAugment: { ops: 3, fill: 9 } }, { autoAugment: 'svhn' }, { photometricDistort: { p: 0.8 } }],
  ),
  fc.record({ posterize: fc.integer({ min: 0, max: 8 }).map(bits => ({ bits, p: 1 })) }),
  fc.record({
    solarize: fc.double({ min: 0, max: 256, noNaN: true }).map(threshold => ({ threshold, p: 1 })),
  }),
  fc.record({ sharpness: fc.double({ min: 0, max: 3, noNaN: true }).map(factor => ({ factor, p: 1 })) }),
)

const value = fc.constantFrom<'random' | number | number[]>('random', 0.1, [-1.7, 300, 2 / 3])
const erasing = fc.record({ randomErasing: fc.record({ p: fc.constant(1), value }) })
const FLOATS: readonly string[] = ['f32', 'f16', 'bf16', 'f64']

export interface Wish {
  width: number
  height: number
  pixels: OpJson[]
  normal: boolean
  erasing: OpJson[]
  dtype: Dtype
  layout: 'chw' | 'hwc'
  orientation: number
  /** Elements by which the field is larger than the picture. */
  spare: readonly [number, number]
  flat: boolean
  position: number
}

const { dtypes } = imageKind.rules
const little = fc.integer({ min: 0, max: 3 })

export const wishes: fc.Arbitrary<Wish> = fc.record({
  width: side,
  height: side,
  pixels: fc.array(pixelOperator as fc.Arbitrary<unknown>, { maxLength: 5 }) as fc.Arbitrary<OpJson[]>,
  normal: fc.boolean(),
  erasing: fc.array(erasing as fc.Arbitrary<unknown>, { maxLength: 2 }) as fc.Arbitrary<OpJson[]>,
  dtype: fc.oneof(fc.constant<Dtype>('f32'), fc.constantFrom(...dtypes)),
  layout: fc.constantFrom('chw', 'hwc'),
  orientation: fc.integer({ min: 1, max: 8 }),
  spare: fc.oneof(fc.constant([0, 0] as const), fc.tuple(little, little)),
  flat: fc.boolean(),
  position: fc.integer({ min: 0, max: 1e6 }),
})

/** A wish for each operator of a field that does not look at boxes: its example. */
export const examples: Wish[] = Object.values(OPERATORS)
  .filter(({ stage, keys }) => stage === 'pixels' && !('boxes' in keys))
  .map(({ example }, position) => ({
    width: 37,
    height: 29,
    pixels: [example as OpJson],
    normal: true,
    erasing: [],
    dtype: 'f32',
    layout: 'chw',
    orientation: 1,
    spare: [0, 0],
    flat: false,
    position,
  }))

/** What the CPU makes of a wish, and the parameter row for it. */
export function pictureCase(wish: Wish): PictureCase {
  const { width, height, dtype, layout, position, orientation } = wish
  const normalize = wish.normal && FLOATS.includes(dtype) ? [{ normalize: 'imagenet' as const }] : []
  const apply = normalOps([...wish.pixels, ...normalize, ...wish.erasing], '')
  const random = (op: NormalOp) => new Random().key(7, 0, position, op.ordinal + 13 * apply.indexOf(op))
  const steps = chooseSteps(apply, { width, height }, random)
  let end = { width, height }
  for (const step of steps) end = sizeAfter(step, end)
  const room = { width: end.width + wish.spare[0], height: end.height + wish.spare[1] }

  const shape = layout === 'chw' ? [3, room.height, room.width] : [room.height, room.width, 3]
  const field: NormalField = {
    name: 'image',
    from: ['jpg'],
    as: 'image',
    apply,
    scale: 1,
    minArea: 0,
    layout: { name: 'image', dtype, shape, form: 'dense', layout },
  }
  const pixels = pixelsOf(wish)
  const work = Workspace.alone(1 << 20)
  const bytes = 3 * room.width * room.height * DTYPES[dtype].bytes
  const at = work.take(bytes)
  const context = { work, position: 0, chosen: new Map(), random: (_: string, op: NormalOp) => random(op) }
  compileImage(field).run(npyOf([height, width, 3], pixels), at, context)

  // The picture as it would be stored: turned back. Quarter turns are each other's opposites.
  const back = orientation === 6 ? 8 : orientation === 8 ? 6 : orientation
  const stored = upright({ data: pixels, width, height, channels: 3 }, back)
  const statistics = apply.find(op => op.name === 'normalize')?.params as unknown as Statistics | undefined
  return {
    row: parameterRow(steps, { ...stored, orientation }),
    stored: stored.data,
    form: { ...room, dtype, layout, lookup: compileValues(dtype, 3, statistics).lookup },
    steps,
    finished: work.u8.slice(at, at + bytes),
  }
}

/** Noise, or one colour with a few others: what histograms find hard. */
function pixelsOf({ width, height, flat, position }: Wish): Uint8Array {
  const random = new Random().key(position, 0, 0, 0)
  return Uint8Array.from({ length: width * height * 3 }, () =>
    flat && random.next() < 0.95 ? 77 : random.bits(),
  )
}

const writer = new RowWriter()
const memory = new WebAssembly.Memory({ initial: 1 })

/** The parameter row of a picture whose pixels are there already. */
export function parameterRow(
  steps: readonly Step[],
  stored: { width: number; height: number; orientation: number },
): Uint32Array {
  const { width, height, orientation } = stored
  const [upWidth, upHeight] = orientation < 5 ? [width, height] : [height, width]
  const plan = pictureOps(steps, upWidth, upHeight)
  new Uint32Array(memory.buffer).fill(0)
  const row = { form: Form.Pixels, bytes: width * height * 3, stored, plan, steps }
  const words = HEADER_WORDS + OP_WORDS * writePictureRow(writer, memory, 0, row)
  return new Uint32Array(memory.buffer, 0, words).slice()
}
