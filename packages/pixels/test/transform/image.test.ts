/** Image and mask programs: fused and deferred steps against the same steps done one after the other by the twins. */

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Dtype } from '../../../core/basics/dtype.js'
import { Random } from '../../../core/basics/random.js'
import { normalOps } from '../../../core/define/operator.js'
import type { NormalField, NormalOp } from '../../../core/define/types.js'
import type { RowContext } from '../../../core/engine/make/program.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { decodeImage, imageInfo, MAX_PIXELS } from '../../decode/picture/image.js'
import type { Picture } from '../../decode/picture/picture.js'
import { chooseSteps } from '../../operators/choose.js'
import { cropped } from '../../operators/crop/step.js'
import type { Chosen, Step } from '../../operators/steps.js'
import { applyStep } from '../../operators/steps.js'
import { Canvas } from '../../transform/picture/canvas.js'
import { compileImage, compileMask } from '../../transform/picture/image.js'
import { openPicture } from '../../transform/picture/open-picture.js'
import { compileValues } from '../../transform/place/values.js'
import { bytesOf } from './pictures.js'
import * as twin from './twins/place.js'

const image = (name: string) =>
  readFileSync(new URL(`../../../../test/golden/images/${name}`, import.meta.url))

/** An npy file of bytes. */
function npy(shape: number[], pixels: Uint8Array): Uint8Array {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${shape.join(', ')}), }\n`
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.alloc(2), Buffer.from(text)])
  head.writeUInt16LE(text.length, 8)
  return Buffer.concat([head, pixels])
}

function noise(length: number, seed = 1): Uint8Array {
  const random = new Random().key(seed, 0, 0, 0)
  return Uint8Array.from({ length }, () => random.bits())
}

/** One step, in full, by the plainest means. */
function stepByStep(step: Step, picture: Picture, work: Workspace): Picture {
  const { at, width, height, channels } = picture
  switch (step.do) {
    case 'resize':
    case 'flip': {
      const size =
        step.do === 'resize' ? step : { width, height, filter: 'nearest' as const, antialias: false }
      const to = work.take(size.width * size.height * channels)
      const flips = {
        horizontal: step.do === 'flip' && step.axis === 'horizontal',
        vertical: step.do === 'flip' && step.axis === 'vertical',
      }
      twin.placePicture(work.u8, { ...picture, at }, { x: 0, y: 0, width, height }, size, flips, {
        at: to,
        layout: 'hwc',
        values: compileValues('u8', channels),
        width: size.width,
        height: size.height,
      })
      return { at: to, channels, ...size, stride: size.width * channels }
    }
    case 'normalize':
    case 'erase':
      return picture
    default:
      return applyStep(step, picture, work)
  }
}

const side = fc.integer({ min: 1, max: 40 })
const fraction = fc.double({ min: 0, max: 0.9, noNaN: true })
/** Steps whose numbers are fractions of whatever size they meet. */
const wish = fc.oneof(
  fc.record({
    do: fc.constant('crop' as const),
    x: fraction,
    y: fraction,
    width: fraction,
    height: fraction,
  }),
  fc.record({
    do: fc.constant('resize' as const),
    width: side,
    height: side,
    filter: fc.constantFrom('nearest', 'bilinear', 'bicubic'),
    antialias: fc.boolean(),
  }),
  fc.record({ do: fc.constant('flip' as const), axis: fc.constantFrom('horizontal', 'vertical') }),
  fc.constant({ do: 'invert' as const }),
  fc.constant({
    do: 'pad' as const,
    left: 2,
    top: 1,
    right: 0,
    bottom: 3,
    mode: 'reflect' as const,
    fill: [],
  }),
  fc.constant({ do: 'crop' as const, outside: true as const }),
)

function realSteps(wishes: readonly unknown[], width: number, height: number): Step[] {
  const steps: Step[] = []
  for (const w of wishes as { do: string; [key: string]: unknown }[]) {
    let step = w as unknown as Step
    if (w.do === 'crop' && w.outside) step = { do: 'crop', x: -3, y: 1, width: width + 4, height }
    else if (step.do === 'crop') {
      const x = Math.floor(step.x * width)
      const y = Math.floor(step.y * height)
      step = {
        do: 'crop',
        x,
        y,
        width: Math.max(1, Math.ceil((width - x) * (1 - step.width))),
        height: Math.max(1, Math.ceil((height - y) * (1 - step.height))),
      }
    }
    if (step.do === 'crop' || step.do === 'resize') ({ width, height } = step)
    if (step.do === 'pad') {
      if (width < 4 || height < 4) continue // reflects at most its size
      width += 2
      height += 4
    }
    steps.push(step)
  }
  return steps
}

describe('a canvas', () => {
  it('defers steps without changing what they do', () => {
    fc.assert(
      fc.property(
        fc.record({ width: side, height: side, wishes: fc.array(wish, { maxLength: 7 }) }),
        ({ width, height, wishes }) => {
          const steps = realSteps(wishes, width, height)
          const bytes = npy([height, width, 3], noise(width * height * 3))
          const work = Workspace.alone(1 << 20)
          const source = openPicture(bytes, 3, { scale: 1 })
          const canvas = new Canvas(source, work)
          let picture = source.decode({ x: 0, y: 0, width, height }, undefined, work)
          for (const step of steps) {
            canvas.apply(step)
            picture = stepByStep(step, picture, work)
          }
          expect([canvas.width, canvas.height]).toEqual([picture.width, picture.height])
          const at = work.take(picture.width * picture.height * 3)
          const size = { width: canvas.width, height: canvas.height }
          canvas.place({ at, layout: 'hwc', values: compileValues('u8', 3), ...size })
          const placed = { ...picture, at, stride: picture.width * 3 }
          expect(Buffer.compare(bytesOf(placed, work), bytesOf(picture, work))).toBe(0)
        },
      ),
    )
  })

  it.each([
    ...['420.jpg', '444.jpg', 'exif-6.jpg', 'rgb.png'].map(name => [name, 'upright'] as const),
    ...['exif-3.jpg', 'exif-6.jpg', 'exif-6.png'].map(name => [name, 'stored'] as const),
  ])('decodes no more of %s, %s, than a window needs', (name, orientation) => {
    const bytes = image(name)
    const stored = orientation === 'stored'
    const info = imageInfo(bytes, MAX_PIXELS, stored)
    const steps: Step[] = [
      { do: 'crop', x: 3, y: 2, width: info.width - 5, height: info.height - 4 },
      { do: 'resize', width: 40, height: 30, filter: 'bilinear', antialias: true },
      { do: 'crop', x: 7, y: 11, width: 20, height: 13 },
      { do: 'flip', axis: 'horizontal' },
    ]
    const work = Workspace.alone(1 << 22)
    const canvas = new Canvas(openPicture(bytes, 3, { scale: 1, ...(stored && { orientation }) }), work)
    let picture = decodeImage(bytes, info, { channels: 3 }, work)
    for (const step of steps) {
      canvas.apply(step)
      picture = stepByStep(step, picture, work)
    }
    const at = work.take(20 * 13 * 3)
    canvas.place({ at, layout: 'hwc', values: compileValues('u8', 3), width: 20, height: 13 })
    expect(work.u8.slice(at, at + 20 * 13 * 3)).toEqual(bytesOf(picture, work))
  })
})

function fieldOf(parts: Partial<NormalField> & { dtype?: Dtype; shape: number[] }): NormalField {
  const { dtype = 'u8', shape, ...more } = parts
  return {
    name: 'image',
    from: ['jpg'],
    as: 'image',
    apply: [],
    scale: 1,
    minArea: 0,
    layout: { name: 'image', dtype, shape, form: 'dense', layout: 'hwc' },
    ...more,
  }
}

const chosenIn = ({ chosen }: RowContext): Chosen => chosen.get('image') as Chosen

function contextOf(work: Workspace, position = 5): RowContext {
  const chosen = new Map<string, Chosen>()
  return {
    work,
    position,
    chosen,
    random: (_field, op: NormalOp) => new Random().key(7, 0, position, op.ordinal),
  }
}

/** Runs a program and returns the bytes of its row. */
function row(field: NormalField, bytes: number, value: Uint8Array, context: RowContext): Uint8Array {
  const { work } = context
  const at = work.take(bytes)
  work.u8.fill(0xaa, at, at + bytes)
  const program = field.as === 'mask' ? compileMask(field) : compileImage(field)
  program.run(value, at, context)
  return work.u8.slice(at, at + bytes)
}

describe('an image program', () => {
  it('makes of a JPEG what its steps say, in every dtype', () => {
    const bytes = image('420.jpg')
    const apply = normalOps(
      [{ randomResizedCrop: { size: 24 } }, { flip: { p: 1 } }, { normalize: 'imagenet' }],
      '',
    )
    for (const dtype of ['f32', 'f16', 'bf16', 'f64'] as const) {
      const work = Workspace.alone(1 << 22)
      const context = contextOf(work)
      const layout = { name: 'image', dtype, shape: [3, 24, 24], form: 'dense', layout: 'chw' } as const
      const size = 24 * 24 * 3 * compileValues(dtype, 3).entry
      const made = row(
        fieldOf({ shape: [], apply, layout: { ...layout, shape: [...layout.shape] } }),
        size,
        bytes,
        context,
      )
      const { width, height } = imageInfo(bytes)
      expect(context.chosen.get('image')).toMatchObject({ width, height })
      let picture = decodeImage(bytes, imageInfo(bytes), { channels: 3 }, work)
      for (const step of chosenIn(context).steps) picture = stepByStep(step, picture, work)
      const at = work.take(size)
      twin.placePicture(
        ...([work.u8, picture, { x: 0, y: 0, width: 24, height: 24 }] as const),
        { width: 24, height: 24, filter: 'nearest', antialias: false },
        { horizontal: false, vertical: false },
        {
          at,
          layout: 'chw',
          width: 24,
          height: 24,
          values: compileValues(dtype, 3, { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }),
        },
      )
      expect(Buffer.compare(made, work.u8.slice(at, at + size))).toBe(0)
    }
  })

  it('fills a greater shape with zeros, and refuses a picture that is too large', () => {
    const pixels = noise(5 * 7 * 3)
    const context = contextOf(Workspace.alone())
    const made = row(fieldOf({ shape: [8, 9, 3] }), 8 * 9 * 3, npy([5, 7, 3], pixels), context)
    for (let y = 0; y < 8; y++) {
      for (let x = 0; x < 9; x++) {
        const inside = x < 7 && y < 5
        const wanted = inside ? pixels.subarray((y * 7 + x) * 3, (y * 7 + x) * 3 + 3) : new Uint8Array(3)
        expect(made.subarray((y * 9 + x) * 3, (y * 9 + x) * 3 + 3)).toEqual(wanted)
      }
    }
    expect(() => row(fieldOf({ shape: [4, 9, 3] }), 4 * 9 * 3, npy([5, 7, 3], pixels), context)).toThrow(
      /picture is 7×5 after all steps, more than the field's 9×4/,
    )
  })

  it('erases in the slot, in the values of the slot', () => {
    const op = { randomErasing: { p: 1, value: [0.5, -1, 2] } }
    const apply = normalOps([{ normalize: 'imagenet' }, op], '')
    const context = contextOf(Workspace.alone())
    const field = fieldOf({ shape: [16, 16, 3], dtype: 'f32', apply })
    const made = row(field, 16 * 16 * 12, npy([16, 16, 3], noise(16 * 16 * 3)), context)
    const erase = chosenIn(context).steps.find(step => step.do === 'erase')
    if (erase?.do !== 'erase') throw new Error('nothing was erased')
    const floats = new Float32Array(made.buffer)
    const first = (erase.y * 16 + erase.x) * 3
    expect([...floats.subarray(first, first + 3)]).toEqual([0.5, -1, 2])
  })

  it('takes gray raw pixels as three equal channels, and names what is no picture', () => {
    const context = contextOf(Workspace.alone())
    const gray = noise(6 * 5)
    const made = row(fieldOf({ shape: [5, 6, 3] }), 5 * 6 * 3, npy([5, 6], gray), context)
    expect(made).toEqual(Uint8Array.from({ length: 90 }, (_, i) => gray[Math.floor(i / 3)]))
    const wide = npy([5, 6, 4], noise(120))
    expect(() => row(fieldOf({ shape: [5, 6, 3] }), 90, wide, context)).toThrow(
      /npy array of u8 and shape \(5, 6, 4\) is no picture: store \(height, width, 3\)/,
    )
    expect(() => compileImage(fieldOf({ shape: [5, 6, 3] })).run(3, 0, context)).toThrow(
      /found 3: check "from"/,
    )
    expect(() => compileImage(fieldOf({ shape: [5, 6, 3] })).run('images/1.jpg', 0, context)).toThrow(
      /found "images\/1.jpg": files that a table names are read by \{"files": \{"list"/,
    )
  })

  it.each([2, 4, 8] as const)('sees a JPEG decoded at 1/%i as a picture of that size', scale => {
    for (const name of ['420.jpg', 'size-17x33.jpg', 'exif-6.jpg']) {
      const bytes = image(name)
      const { width, height } = imageInfo(bytes)
      const size = { width: Math.ceil(width / scale), height: Math.ceil(height / scale) }
      const context = contextOf(Workspace.alone(1 << 22))
      const length = size.width * size.height * 3
      const made = row(fieldOf({ shape: [size.height, size.width, 3], scale }), length, bytes, context)
      const whole = decodeImage(bytes, imageInfo(bytes), { channels: 3, scale }, context.work)
      expect(made).toEqual(bytesOf(whole, context.work))
      const source = openPicture(bytes, 3, { scale })
      const box = { x: 1, y: 1, width: size.width - 1, height: size.height - 1 }
      if (box.width < 1 || box.height < 1) continue
      const part = source.decode(box, undefined, context.work)
      expect(bytesOf(part, context.work)).toEqual(bytesOf(cropped(box, whole, context.work), context.work))
    }
  })
})

describe('a mask program', () => {
  it('follows its image, nearest everywhere', () => {
    const context = contextOf(Workspace.alone())
    const apply = normalOps(
      [
        { randomResizedCrop: { size: 20 } },
        { rotate: { degrees: 30 } },
        { pad: { padding: 2, fill: 9 } },
        { flip: 1 },
      ],
      '',
    )
    const classes = Uint8Array.from({ length: 30 * 40 }, (_, i) => (i % 3) * 50)
    row(fieldOf({ shape: [24, 24, 3], apply }), 24 * 24 * 3, npy([30, 40, 3], noise(3600)), context)
    const mask = fieldOf({ name: 'mask', as: 'mask', shape: [24, 24], follow: 'image', dtype: 'i64' })
    const made = new BigInt64Array(row(mask, 24 * 24 * 8, npy([30, 40], classes), context).buffer)
    const found = new Set(made)
    expect([...found].map(Number).every(value => [0, 50, 100].includes(value))).toBe(true)
    expect(found.size).toBe(3)
    expect(made.slice(0, 48).every(value => value === 0n)).toBe(true) // the padding is background
  })

  it('moves exactly as its image does', () => {
    const apply = normalOps(
      [{ randomCrop: { size: [9, 13] } }, { flip: 0.5 }, { flip: { axis: 'vertical' } }],
      '',
    )
    const gray = noise(30 * 40)
    for (let position = 0; position < 8; position++) {
      const context = contextOf(Workspace.alone(), position)
      const of = row(fieldOf({ shape: [9, 13, 3], apply }), 9 * 13 * 3, npy([30, 40], gray), context)
      const mask = fieldOf({ name: 'mask', as: 'mask', shape: [9, 13], follow: 'image' })
      const made = row(mask, 9 * 13, npy([30, 40], gray), context)
      expect(made).toEqual(of.filter((_, i) => i % 3 === 0))
    }
  })

  it('keeps class numbers as they are in a float dtype', () => {
    const context = contextOf(Workspace.alone())
    const field = fieldOf({ as: 'mask', shape: [2, 3], dtype: 'f32' })
    const made = row(field, 24, npy([2, 3], Uint8Array.of(0, 1, 2, 3, 254, 255)), context)
    expect([...new Float32Array(made.buffer)]).toEqual([0, 1, 2, 3, 254, 255])
  })

  it('refuses a mask of another size than its image, and one that comes before it', () => {
    const context = contextOf(Workspace.alone())
    const mask = fieldOf({ name: 'mask', as: 'mask', shape: [9, 9], follow: 'image' })
    const value = npy([8, 9], noise(72))
    expect(() => row(mask, 81, value, context)).toThrow(/is made before "image"/)
    context.chosen.set('image', { width: 10, height: 8, steps: [] })
    expect(() => row(mask, 81, value, context)).toThrow(
      /picture is 9×8, but "image", which it follows, is 10×8/,
    )
  })
})

it('chooses the same steps whichever field is asked first', () => {
  const apply = normalOps([{ randomResizedCrop: { size: 24 } }, { flip: 0.5 }], '')
  const random = (op: NormalOp) => new Random().key(7, 0, 5, op.ordinal)
  const steps = chooseSteps(apply, { width: 40, height: 30 }, random)
  const context = contextOf(Workspace.alone())
  row(fieldOf({ shape: [24, 24, 3], apply }), 24 * 24 * 3, npy([30, 40], noise(1200)), context)
  expect(chosenIn(context).steps).toEqual(steps)
})
