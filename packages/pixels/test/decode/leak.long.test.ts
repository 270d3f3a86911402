import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { encodeJpeg } from '../../../core/system/codecs/turbojpeg.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { decodeImage, imageInfo } from '../../decode/picture/image.js'
import { noise } from './pictures.js'

const MIB = 2 ** 20

/** Runs `step` many times and returns by how many MiB the process grew after the first third. */
function growth(times: number, step: (i: number) => void): number {
  let before = 0
  for (let i = 0; i < times; i++) {
    if (i === Math.floor(times / 3)) before = process.memoryUsage.rss()
    step(i)
  }
  return (process.memoryUsage.rss() - before) / MIB
}

it('does not leak: 20,000 JPEGs, whole, by region and damaged; 3,000 others', () => {
  const work = Workspace.alone()
  const file = (name: string) =>
    new Uint8Array(readFileSync(new URL(`../../../../test/golden/images/${name}`, import.meta.url)))
  const jpegs = [
    encodeJpeg(noise(48, 40, 1), 48, 40, 90),
    file('cmyk.jpg'),
    file('exif-6.jpg'),
    file('gray.jpg'),
  ]
  const others = [
    file('rgb.png'),
    file('palette.png'),
    file('lossy.webp'),
    file('still.gif'),
    file('plain.tif'),
  ]
  const broken = file('420.jpg')
  const table = Buffer.from(broken).indexOf(Buffer.of(0xff, 0xc4))
  broken.fill(0xff, table + 5, table + 21) // counts of the first Huffman table
  const box = { x: 3, y: 5, width: 20, height: 11 }

  const decode = (bytes: Uint8Array, i: number) => {
    work.reset()
    decodeImage(bytes, imageInfo(bytes), { channels: 3, box: i % 2 ? box : undefined }, work)
  }
  const grown = {
    jpeg: growth(20_000, i => {
      decode(jpegs[i % jpegs.length], i >> 2)
      if (i % 100 === 0) expect(() => decode(broken, 0)).toThrow(/Huffman/)
    }),
    other: growth(3_000, i => {
      const bytes = others[i % others.length]
      decode(bytes, i)
      if (i % 100 === 0) expect(() => decode(bytes.subarray(0, bytes.length >> 1), 0)).toThrow()
    }),
  }
  // A picture is about 6 kB: to lose one in four would be 19 MiB. The collector's ups and downs are a few.
  expect(grown.jpeg, 'MiB over 13,333 JPEGs').toBeLessThan(16)
  expect(grown.other, 'MiB over 2,000 others').toBeLessThan(16)
})
