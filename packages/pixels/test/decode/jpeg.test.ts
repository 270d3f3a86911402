import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { turboHeader } from '../../../../test/support/turbojpeg-header.js'
import { encodeJpeg } from '../../../core/system/codecs/turbojpeg.js'
import type { Subsampling } from '../../../core/system/codecs/turbojpeg-library.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { decodeJpeg, type Reduction } from '../../decode/picture/jpeg.js'
import { readJpegHeader } from '../../decode/picture/jpeg-header.js'
import { crop, noise, pixels } from './pictures.js'

const SAMPLINGS = ['444', '422', '420', '440', '411', '441'] as const satisfies Subsampling[]
const REDUCTIONS: Reduction[] = [1, 2, 4, 8]

describe('region decode', () => {
  const work = Workspace.alone()

  it('equals decode-then-crop bit for bit, for any box, subsampling, size and reduction', () => {
    const property = fc.property(
      fc.constantFrom(...SAMPLINGS),
      fc.constantFrom(...REDUCTIONS),
      fc.integer({ min: 1, max: 90 }),
      fc.integer({ min: 1, max: 90 }),
      fc.nat(),
      fc.constantFrom(1 as const, 3 as const),
      (subsampling, reduction, width, height, seed, channels) => {
        const jpeg = encodeJpeg(noise(width, height, seed), width, height, 90, subsampling)
        const header = readJpegHeader(jpeg)
        work.reset()
        const whole = decodeJpeg(jpeg, header, undefined, reduction, channels, work)
        const all = pixels(whole, work)
        expect([whole.width, whole.height]).toEqual([
          Math.ceil(width / reduction),
          Math.ceil(height / reduction),
        ])
        for (let k = 0; k < 12; k++) {
          const pick = (n: number, salt: number) => ((seed >>> 3) * 31 + k * 7919 + salt * 104729) % n
          const x = pick(whole.width, 1)
          const y = pick(whole.height, 2)
          const box = {
            x,
            y,
            width: 1 + pick(whole.width - x, 3),
            height: 1 + pick(whole.height - y, 4),
          }
          const scaled = {
            x: box.x * reduction,
            y: box.y * reduction,
            width: box.width * reduction,
            height: box.height * reduction,
          }
          const mark = work.mark()
          const part = decodeJpeg(jpeg, header, scaled, reduction, channels, work)
          expect([part.width, part.height]).toEqual([box.width, box.height])
          expect(Buffer.compare(pixels(part, work), crop(all, whole.width, channels, box))).toBe(0)
          work.release(mark)
        }
      },
    )
    fc.assert(property)
  })
})

describe('header', () => {
  it('agrees with the library', () => {
    for (const subsampling of SAMPLINGS) {
      const jpeg = encodeJpeg(noise(37, 21, 5), 37, 21, 80, subsampling)
      const ours = readJpegHeader(jpeg)
      const theirs = turboHeader(jpeg)
      expect(theirs).toMatchObject({ width: 37, height: 21, subsampling, colorspace: 'ycbcr', precision: 8 })
      expect(ours).toMatchObject({ width: 37, height: 21, components: 3, precision: 8, orientation: 1 })
      expect(ours.mcuWidth).toBe(subsampling[1] === '2' ? 16 : subsampling === '411' ? 32 : 8)
    }
  })

  it('with two frames is for the CPU alone, which refuses it: another decoder might take the larger one', () => {
    const jpeg = Buffer.from(encodeJpeg(noise(37, 21, 5), 37, 21, 80, '420'))
    expect(readJpegHeader(jpeg).gpu).toBe(0x22)
    const at = jpeg.indexOf(Buffer.from([0xff, 0xc0]))
    const end = at + 2 + jpeg.readUInt16BE(at + 2)
    const other = Buffer.from(jpeg.subarray(at, end))
    other.writeUInt16BE(2100, 5)
    const twice = Buffer.concat([jpeg.subarray(0, end), other, jpeg.subarray(end)])
    const header = readJpegHeader(twice)
    expect([header.width, header.height, header.gpu]).toEqual([37, 21, undefined])
    expect(() => decodeJpeg(twice, header, undefined, 1, 3, Workspace.alone())).toThrow()
  })
})

describe('a progressive picture of many scans', () => {
  const segment = (marker: number, body: readonly number[]) => [
    0xff,
    marker,
    (body.length + 2) >> 8,
    (body.length + 2) & 255,
    ...body,
  ]

  /** Grey; every scan but the first says in a few bytes that all of its blocks are empty. */
  function manyScans(width: number, height: number, scans: number): Uint8Array {
    const blocks = Math.ceil(width / 8) * Math.ceil(height / 8)
    const head = [
      ...[0xff, 0xd8, ...segment(0xdb, [0, ...Array(64).fill(16)])],
      ...segment(0xc2, [8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0]),
      ...segment(0xc4, [0x00, 1, ...Array(15).fill(0), 0]), // one code of one bit: no difference
      ...segment(0xc4, [0x10, 1, 1, ...Array(14).fill(0), 0xe0, 0x00]), // 0: run of 2^14 + 14 bits; 10: one block
      ...segment(0xda, [1, 1, 0, 0, 0, 0]),
    ]
    const runs = Math.floor(blocks / 2 ** 14)
    const bits = `0${'0'.repeat(14)}`.repeat(runs) + '10'.repeat(blocks - runs * 2 ** 14)
    const bytes = (bits.padEnd(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? []).map(byte =>
      Number.parseInt(byte, 2),
    )
    const scan = Buffer.from([...segment(0xda, [1, 1, 0, 1, 63, 0]), ...bytes])
    const first = Buffer.alloc(Math.ceil(blocks / 8))
    return new Uint8Array(
      Buffer.concat([Buffer.from(head), first, ...Array(scans - 1).fill(scan), Buffer.of(0xff, 0xd9)]),
    )
  }
  const decode = (jpeg: Uint8Array, limit: number) => {
    const box = { x: 64, y: 64, width: 16, height: 16 }
    return decodeJpeg(jpeg, readJpegHeader(jpeg), box, 1, 3, Workspace.alone(1 << 20, limit))
  }

  it('is decoded as far as the pixels of all its scans are not too many', () => {
    expect(decode(manyScans(4000, 3000, 10), 2 ** 28).width).toBe(16)
    expect(decode(manyScans(64 * 8, 64 * 8, 400), 2 ** 28).width).toBe(16)
    expect(() => decode(manyScans(4000, 3000, 400), 2 ** 28)).toThrow('more than 357 scans')
  })

  it('takes no more memory than the workspace may', () => {
    expect(() => decode(manyScans(4000, 3000, 10), 2 ** 24)).toThrow(/takes more memory to decode.*"scratch"/)
  })
})
