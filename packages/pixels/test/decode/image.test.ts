import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { decodeNpy } from '../../../core/basics/npy/file.js'
import { decoderVersions } from '../../../core/deliver/stats.js'
import { encodeJpeg } from '../../../core/system/codecs/turbojpeg.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { decodeImage, imageInfo, MAX_PIXELS } from '../../decode/picture/image.js'
import { crop, noise, pixels } from './pictures.js'

const folder = new URL('../../../../test/golden/images/', import.meta.url)
const read = (name: string) => new Uint8Array(readFileSync(new URL(name, folder)))
const index: { file: string; as: 'image' | 'stored' | 'mask'; tolerance: number }[] = JSON.parse(
  readFileSync(new URL('index.json', folder), 'utf8'),
)
const work = Workspace.alone()

/** A golden file's header, with what PIL made of its pixels. */
function golden(file: string, as: 'image' | 'stored' | 'mask') {
  const bytes = read(file)
  const expected = decodeNpy(read(as === 'image' ? `${file}.npy` : `${file}.${as}.npy`))
  const info = imageInfo(bytes, MAX_PIXELS, as === 'stored')
  return { bytes, info, expected, channels: as === 'mask' ? (1 as const) : (3 as const) }
}

function worst(a: Uint8Array, b: Uint8Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0)
}

describe('golden pictures', () => {
  it.each(index)('$file as $as', ({ file, as, tolerance }) => {
    const { bytes, info, expected, channels } = golden(file, as)
    work.reset()
    const picture = decodeImage(bytes, info, { channels }, work)
    expect([picture.height, picture.width]).toEqual(expected.shape.slice(0, 2))
    expect([info.height, info.width]).toEqual(expected.shape.slice(0, 2))
    const got = pixels(picture, work)
    expect(got.length).toBe(expected.data.length)
    expect(worst(got, expected.data)).toBeLessThanOrEqual(tolerance)
  })

  it.each(index)('$file as $as: any box is the same as cropping', ({ file, as }) => {
    const { bytes, info, channels } = golden(file, as)
    work.reset()
    const all = pixels(decodeImage(bytes, info, { channels }, work), work)
    const property = fc.property(fc.nat(), fc.nat(), fc.nat(), fc.nat(), (a, b, c, d) => {
      const x = a % info.width
      const y = b % info.height
      const box = { x, y, width: 1 + (c % (info.width - x)), height: 1 + (d % (info.height - y)) }
      work.reset()
      const part = decodeImage(bytes, info, { channels, box }, work)
      expect([part.width, part.height]).toEqual([box.width, box.height])
      expect(Buffer.compare(pixels(part, work), crop(all, info.width, channels, box))).toBe(0)
    })
    fc.assert(property, { numRuns: runs(20) })
  })

  it('an AVIF that its file turns or mirrors is the stored picture, turned or mirrored', () => {
    const decode = (orientation: number) => {
      const bytes = read(`turned-${orientation}.avif`)
      work.reset()
      const picture = decodeImage(bytes, imageInfo(bytes), { channels: 3 }, work)
      return { width: picture.width, height: picture.height, data: pixels(picture, work) }
    }
    const { width, height, data } = decode(1)
    /** Where the pixel at (x, y) of the upright picture is stored. */
    const places: Record<number, (x: number, y: number) => [x: number, y: number]> = {
      2: (x, y) => [width - 1 - x, y],
      3: (x, y) => [width - 1 - x, height - 1 - y],
      4: (x, y) => [x, height - 1 - y],
      5: (x, y) => [y, x],
      6: (x, y) => [y, height - 1 - x],
      7: (x, y) => [width - 1 - y, height - 1 - x],
      8: (x, y) => [width - 1 - y, x],
    }
    for (const [orientation, place] of Object.entries(places)) {
      const turned = decode(Number(orientation))
      const expected = Array.from({ length: width * height }, (_, i) => {
        const [x, y] = place(i % turned.width, Math.floor(i / turned.width))
        return [...data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)]
      })
      expect(Buffer.compare(turned.data, Buffer.from(expected.flat())), orientation).toBe(0)
    }
  })

  it('reads bytes that lie in shared memory, at any offset', () => {
    const { bytes, info, expected, channels } = golden('420.jpg', 'image')
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 7), 7)
    shared.set(bytes)
    expect(imageInfo(shared)).toEqual(info)
    work.reset()
    expect(pixels(decodeImage(shared, info, { channels }, work), work)).toEqual(expected.data)
  })
})

describe('scale', () => {
  const jpeg = encodeJpeg(noise(400, 300, 1), 400, 300, 90)
  const info = imageInfo(jpeg)
  const size = (options: Omit<Parameters<typeof decodeImage>[2], 'channels'>) => {
    work.reset()
    const { width, height } = decodeImage(jpeg, info, { channels: 3, ...options }, work)
    return [width, height]
  }

  it('auto takes the greatest reduction that leaves the box no smaller than the target', () => {
    expect(size({ scale: 'auto', target: { width: 224, height: 224 } })).toEqual([400, 300])
    expect(size({ scale: 'auto', target: { width: 200, height: 150 } })).toEqual([200, 150])
    expect(size({ scale: 'auto', target: { width: 200, height: 151 } })).toEqual([400, 300])
    expect(size({ scale: 'auto', target: { width: 64, height: 64 } })).toEqual([100, 75])
    expect(size({ scale: 'auto', target: { width: 1, height: 1 } })).toEqual([50, 38])
    const box = { x: 101, y: 51, width: 200, height: 200 }
    expect(size({ box, scale: 'auto', target: { width: 100, height: 100 } })).toEqual([100, 100])
    expect(size({ box, scale: 'auto', target: { width: 101, height: 100 } })).toEqual([200, 200])
  })

  it('a given reduction is taken; without one nothing is reduced', () => {
    expect(size({ scale: 4 })).toEqual([100, 75])
    expect(size({ target: { width: 10, height: 10 } })).toEqual([400, 300])
  })
})

describe('bad input', () => {
  const text = (value: string) => new TextEncoder().encode(value)
  const decode = (bytes: Uint8Array, channels: 1 | 3 = 3) => {
    work.reset()
    return decodeImage(bytes, imageInfo(bytes), { channels }, work)
  }

  it('says what it found instead of a picture', () => {
    expect(() => imageInfo(new Uint8Array(0))).toThrow(/empty: there are zero bytes/)
    expect(() => imageInfo(text('Hello, I am no picture'))).toThrow(
      /starts with "Hello, I am no p", not an image/,
    )
    expect(() => imageInfo(Uint8Array.of(0, 1, 2, 255))).toThrow(/starts with bytes 000102ff/)
    expect(() => imageInfo(text('BM a bitmap'))).toThrow(/BMP is cut off within its header/)
  })

  it('goes by the bytes: a PNG named .jpg is a PNG', () => {
    expect(imageInfo(read('rgb.png')).format).toBe('png')
  })

  it('refuses a JPEG that is cut off, wherever that is and whichever part is wanted', () => {
    for (const file of ['420.jpg', 'progressive.jpg', 'gray.jpg', 'exif-6.jpg']) {
      const bytes = read(file)
      for (let length = 2; length < bytes.length; length += 37) {
        expect(() => decode(bytes.subarray(0, length)), `${file} at ${length}`).toThrow(/cut off/)
      }
      expect(() => decode(bytes.subarray(0, bytes.length - 1))).toThrow(/cut off before its end marker/)
    }
  })

  it('forgets a bad JPEG: the next picture is as if it had not been there', () => {
    const good = read('420.jpg')
    const expected = pixels(decode(good), work)
    const bad = [read('progressive.jpg'), read('420.jpg'), read('420.jpg')]
    const table = Buffer.from(bad[1]).indexOf(Buffer.of(0xff, 0xc4))
    bad[1].fill(0xff, table + 5, table + 21) // counts of a Huffman table
    bad[2][Buffer.from(bad[2]).indexOf(Buffer.of(0xff, 0xc0)) + 11] = 0x55 // sampling factors
    bad[0].fill(0xff, 400, 420)
    for (const bytes of bad) {
      try {
        decode(bytes)
      } catch (error) {
        expect((error as Error).name).toBe('DecodeError')
      }
      expect(pixels(decode(good), work)).toEqual(expected)
    }
    expect(() => decode(bad[1])).toThrow('JPEG: Bogus Huffman table definition')
    expect(() => decode(bad[2])).toThrow('JPEG: Bogus sampling factors')
  })

  it('refuses PNG, WebP, TIFF and GIF that are cut off', () => {
    for (const file of ['rgb.png', 'palette.png', 'interlaced.png', 'lossy.webp', 'plain.tif', 'still.gif']) {
      const bytes = read(file)
      for (const part of [0.2, 0.5, 0.8]) {
        const cut = bytes.subarray(0, Math.floor(bytes.length * part))
        expect(() => decode(cut), `${file} ${part}`).toThrow(/^(png|webp|tiff|gif|PNG)\b/)
      }
    }
    for (const file of ['transparent-interlaced.gif', 'frame-own.gif']) {
      const bytes = read(file)
      for (let length = 6; length < bytes.length - 2; length++) {
        expect(() => decode(bytes.subarray(0, length)), `${file} at ${length}`).toThrow(/^gif is cut off/)
      }
    }
    const mask = read('palette.png')
    expect(() => decode(mask.subarray(0, mask.length - 40), 1)).toThrow(/PNG.*(unpacked|cut off)/)
  })

  it('refuses a bomb by its header', () => {
    const jpeg = encodeJpeg(noise(16, 16, 1), 16, 16, 90)
    const frame = Buffer.from(jpeg).indexOf(Buffer.of(0xff, 0xc0))
    new DataView(jpeg.buffer).setUint16(frame + 5, 30_000)
    new DataView(jpeg.buffer).setUint16(frame + 7, 30_000)
    expect(() => imageInfo(jpeg)).toThrow(
      /30000×30000 has 900000000 pixels, more than the limit of 134217728/,
    )
    expect(imageInfo(jpeg, 1e9).width).toBe(30_000)
    const png = read('rgb.png').slice()
    new DataView(png.buffer).setUint32(16, 1 << 30)
    expect(() => imageInfo(png)).toThrow(/more than the limit.*store it smaller/)
    const avif = Buffer.from(read('picture.avif'))
    avif.writeUInt32BE(0x78000017, avif.indexOf('ispe') + 12)
    expect(() => imageInfo(avif)).toThrow('avif says that it has 37×2013265943 pixels: the file is damaged')
  })

  it('refuses what libvips would take more memory for than a worker may have, also for a part of it', () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    const box = { x: 0, y: 0, width: 2, height: 2 }
    for (const file of ['lossy.webp', 'picture.avif', 'interlaced.png', 'rgb.png']) {
      const bytes = read(file)
      const info = imageInfo(bytes)
      const decodeWithin = (limit: number) =>
        decodeImage(bytes, info, { channels: 3, box }, new Workspace(memory, 64, 65536, limit))
      expect(decodeWithin(37 * 23 * 4).width).toBe(2)
      if (file === 'rgb.png') expect(decodeWithin(3000).width).toBe(2)
      else
        expect(() => decodeWithin(3000), file).toThrow(
          /of 37×23 takes 1 MiB to decode.*raise the option "scratch"/,
        )
    }
  })

  it('refuses a PNG with more compressed texts than any has: each may unpack to 8 MB', () => {
    const png = read('rgb.png')
    const text = Buffer.concat([Buffer.of(0, 0, 0, 3), Buffer.from('zTXtx'), Buffer.alloc(6)])
    const texts = (count: number) =>
      new Uint8Array(Buffer.concat([png.subarray(0, 33), ...Array(count).fill(text), png.subarray(33)]))
    expect(imageInfo(texts(64)).width).toBe(37)
    expect(() => imageInfo(texts(65))).toThrow(/PNG has more than 64 compressed texts: write it again/)
  })

  it('refuses TIFF and AVIF that would not be what PIL makes of them, by name and with the way out', () => {
    const wrongs: [string, RegExp][] = [
      ['lab.tif', /tiff can't be decoded, its pixels are L\*a\*b\*: convert it to 8-bit RGB/],
      ['ycbcr-studio.tif', /YCbCr pixels of another kind than JPEG: convert it/],
      ['ycbcr-unsaid.tif', /does not say how they are subsampled: convert it/],
      ['sequence.avif', /is an AVIF sequence, which can't be decoded: convert it/],
    ]
    for (const [file, message] of wrongs) expect(() => decode(read(file)), file).toThrow(message)
  })

  it('refuses BMP that is cut off, or of a kind that PIL refuses as well', () => {
    for (const file of [
      'rgb.bmp',
      'bits-4.bmp',
      'bits-16-565.bmp',
      'rle-8.bmp',
      'rle-4.bmp',
      'bits-8-os2.bmp',
    ]) {
      const bytes = read(file)
      for (let length = 2; length < bytes.length - 16; length += 7)
        expect(() => decode(bytes.subarray(0, length)), `${file} at ${length}`).toThrow(/^BMP is cut off/)
    }
    expect(() => decode(read('inside-jpeg.bmp'))).toThrow(/BMP is compressed by JPEG.*convert it/)
    expect(() => decode(read('odd-masks.bmp'))).toThrow(/bit masks f0f0, f00, f.*convert it/)
    expect(() => decode(read('rgb.bmp'), 1)).toThrow(/mask has colours \(BMP\)/)
  })

  it('refuses masks that are no masks', () => {
    expect(() => decode(read('rgb.png'), 1)).toThrow(/mask has colours \(RGB PNG\)/)
    expect(() => decode(read('420.jpg'), 1)).toThrow(/mask has colours \(JPEG\)/)
    expect(() => decode(read('lossy.webp'), 1)).toThrow(/mask has colours \(webp\)/)
    expect(() => decode(read('gray-16.png'), 1)).toThrow(/16 bits/)
  })

  it('refuses boxes outside the picture', () => {
    const bytes = read('420.jpg')
    const box = { x: 50, y: 0, width: 12, height: 4 }
    expect(() => decodeImage(bytes, imageInfo(bytes), { channels: 3, box }, work)).toThrow(
      /12×4 at \(50, 0\) is not inside the picture of 61×47/,
    )
  })

  it('survives any damage: a picture or a DecodeError, whatever was decoded before and lies in memory', () => {
    const files = [
      '420.jpg',
      'progressive.jpg',
      'cmyk.jpg',
      'palette.png',
      'interlaced-palette.png',
      'rgb.png',
      'transparent-interlaced.gif',
      'frame-own.gif',
      'cmyk.tif',
      'ycbcr-deflate.tif',
      'exif-9.tif',
      'bits-16-565.bmp',
      'rle-4.bmp',
      'palette.bmp',
    ]
    const before = [read('444.jpg'), encodeJpeg(noise(40, 30, 1), 40, 30, 20)]
    const outcome = (bytes: Uint8Array, channels: 1 | 3, region: boolean, dirt: number) => {
      decode(before[dirt])
      work.reset()
      work.u8.fill(dirt * 255, 0, 1 << 16)
      try {
        const info = imageInfo(bytes, 1 << 20)
        const fits = info.width >= 6 && info.height >= 5
        const box = region && fits ? { x: 1, y: 1, width: 5, height: 4 } : undefined
        return Buffer.from(pixels(decodeImage(bytes, info, { channels, box }, work), work)).toString('base64')
      } catch (error) {
        expect((error as Error).name).toBe('DecodeError')
        return (error as Error).message
      }
    }
    const property = fc.property(
      fc.constantFrom(...files),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      (file, changes, region) => {
        const bytes = read(file)
        for (const [at, value] of changes) bytes[2 + (at % (bytes.length - 2))] = value
        const channels = file.includes('palette') ? 1 : 3
        expect(outcome(bytes, channels, region, 0)).toBe(outcome(bytes, channels, region, 1))
      },
    )
    fc.assert(property)
  })
})

it('says which decoders it uses', () => {
  const { jpeg, other } = decoderVersions()
  expect(jpeg).toMatch(/^libjpeg-turbo (\d|\()/)
  expect(other).toMatch(/^libvips \d+\.\d+/)
})
