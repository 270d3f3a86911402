import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeJpeg, type Reduction, readJpegHeader } from '../../src/decode/jpeg.js'
import { encodeJpeg, readHeader, type Subsampling } from '../../src/system/turbojpeg.js'
import { Workspace } from '../../src/system/workspace.js'
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
    fc.assert(property, { numRuns: 400 })
  })
})

describe('header', () => {
  it('agrees with the library', () => {
    for (const subsampling of SAMPLINGS) {
      const jpeg = encodeJpeg(noise(37, 21, 5), 37, 21, 80, subsampling)
      const ours = readJpegHeader(jpeg)
      const theirs = readHeader(jpeg)
      expect(theirs).toMatchObject({ width: 37, height: 21, subsampling, colorspace: 'ycbcr', precision: 8 })
      expect(ours).toMatchObject({ width: 37, height: 21, components: 3, precision: 8, orientation: 1 })
      expect(ours.mcuWidth).toBe(subsampling[1] === '2' ? 16 : subsampling === '411' ? 32 : 8)
    }
  })

  it('with two frames is for the CPU alone, which refuses it: another decoder might take the larger one', () => {
    const jpeg = Buffer.from(encodeJpeg(noise(37, 21, 5), 37, 21, 80, '420'))
    expect(readJpegHeader(jpeg).gpu).toBe('hardware')
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
