/** The picture kernel's twin against the CPU's own way: the same steps, from a parameter row, give the same bytes. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { examples, pictureCase, wishes } from '../../../../../test/support/gpu/picture-cases.js'
import { jpeg } from '../../../../../test/support/pictures.js'
import { Random } from '../../../../core/basics/random.js'
import { normalizeFeed } from '../../../../core/define/normalize.js'
import type { NormalOp } from '../../../../core/define/types.js'
import { Workspace } from '../../../../core/system/memory/workspace.js'
import { decodeImage, imageInfo } from '../../../decode/picture/image.js'
import { pictureOf } from '../../../transform/device/parameter-row.js'
import { Form, Word } from '../../../transform/device/parameter-words.js'
import { compileDevicePicture, pictureForDevice } from '../../../transform/device/picture.js'
import { compileImage } from '../../../transform/picture/image.js'
import { bytesOf } from '../pictures.js'
import { upright } from '../twins/frame.js'
import { makePicture } from '../twins/picture.js'

it('makes of a parameter row what the CPU makes of the steps', () => {
  fc.assert(
    fc.property(wishes, wish => {
      const { row, stored, form, finished } = pictureCase(wish)
      expect(Buffer.compare(makePicture(row, stored, form), finished)).toBe(0)
    }),
  )
})

it.each(examples.map(wish => [JSON.stringify(wish.pixels), wish] as const))('the same of %s', (_, wish) => {
  const { row, stored, form, finished } = pictureCase(wish)
  expect(Buffer.compare(makePicture(row, stored, form), finished)).toBe(0)
})

it('a row without a picture is zeros', () => {
  const [wish] = fc.sample(wishes, { seed: 1, numRuns: 1 })
  const { row, form, finished } = pictureCase(wish)
  row[Word.Form] = Form.Nothing
  const made = makePicture(row, new Uint8Array(0), form)
  expect(made).toHaveLength(finished.length)
  expect(made.every(byte => byte === 0)).toBe(true)
})

describe('rows that a maker writes', () => {
  const apply = [
    { randomResizedCrop: { size: [30, 22] } },
    { flip: 0.5 },
    { colorJitter: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 } },
    { normalize: 'imagenet' },
    { randomErasing: { p: 1, value: 'random' } },
  ]
  const feed = normalizeFeed(
    {
      source: { folder: '/nowhere' },
      fields: { image: { from: 'jpg', as: 'image', apply } },
      batch: 4,
    },
    '/',
  )
  const [cpu] = feed.fields
  const layout = pictureForDevice(cpu, feed, { rows: 4 })
  const device = pictureOf(layout)
  const lookup = Buffer.from(device.lookup, 'base64')
  const turned = [1, 2, 3, 4, 5, 6, 7, 8].map(o => [`exif-${o}.jpg`, Form.Jpeg] as const)

  it.each([
    ...turned,
    ['420.jpg', Form.Jpeg],
    ['progressive.jpg', Form.Pixels],
    ['cmyk.jpg', Form.Pixels],
    ['palette.png', Form.Pixels],
  ] as const)('of %s', (name, form) => {
    const file = readFileSync(new URL(`../../../../../test/golden/images/${name}`, import.meta.url))
    for (let position = 0; position < 6; position++) {
      const work = Workspace.alone(1 << 22)
      const random = (_: string, op: NormalOp) => new Random().key(7, 0, position, op.ordinal)
      const context = { work, position: 0, chosen: new Map(), random }
      const finished = work.take(30 * 22 * 12)
      compileImage(cpu).run(file, finished, context)
      const at = work.take(layout.shape[0])
      compileDevicePicture(cpu, layout, { cpuShare: 0 }).run(file, at, context)
      const row = new Uint32Array(work.memory.buffer, at, device.words).slice()
      expect(row[Word.Form]).toBe(form)
      // What the decoder would have left there: the picture as it is stored, or what lies there already.
      const info = imageInfo(file)
      const decoded = bytesOf(decodeImage(file, info, { channels: 3 }, work), work)
      const back = row[Word.Orientation] === 6 ? 8 : row[Word.Orientation] === 8 ? 6 : row[Word.Orientation]
      const pixels =
        row[Word.Form] === Form.Pixels
          ? work.u8.slice(at + device.words * 4, at + device.words * 4 + row[Word.Bytes])
          : upright({ data: decoded, width: info.width, height: info.height, channels: 3 }, back).data
      const made = makePicture(row, pixels, { ...device, lookup })
      expect(Buffer.compare(made, work.u8.slice(finished, finished + made.length))).toBe(0)
    }
  })

  it.each([
    [4000, Form.Jpeg],
    [5000, Form.Pixels],
  ])('of one that is %i high: the kernel has room for 4,096 lines of which one is made', (height, form) => {
    const fields = { image: { from: 'jpg', as: 'image', apply: [{ resize: [1, 8] }] } } as const
    const shrunk = normalizeFeed({ source: { folder: '/nowhere' }, fields, batch: 4 }, '/')
    const [field] = shrunk.fields
    const layout = pictureForDevice(field, shrunk, { rows: 4 })
    const work = Workspace.alone(1 << 22)
    const random = (_: string, op: NormalOp) => new Random().key(7, 0, 0, op.ordinal)
    const at = work.take(layout.shape[0])
    const context = { work, position: 0, chosen: new Map(), random }
    compileDevicePicture(field, layout, { cpuShare: 0 }).run(jpeg(1, 16, height), at, context)
    expect(new Uint32Array(work.memory.buffer, at, 1)[0]).toBe(form)
  })
})
