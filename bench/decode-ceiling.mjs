/**
 * The ceiling of one thread: how many 224×224 JPEGs a second TurboJPEG decodes here, and what our way to it costs.
 *
 *   npm run build && node bench/decode-ceiling.mjs [seconds per measurement]
 *
 * Rows: the bare library call into fixed memory; `decodeImage` of the whole picture; `decodeImage` of the region of
 * a randomResizedCrop (area 8…100 %, ratio 3/4…4/3), with and without reading the header. Rates are per second of
 * CPU time, rounds are interleaved and the median is printed, as the machine may be busy with other things.
 */

import { decoderVersions } from '../build/core/deliver/stats.js'
import { decompress, encodeJpeg } from '../build/core/system/codecs/turbojpeg.js'
import { Workspace } from '../build/core/system/memory/workspace.js'
import { decodeImage, imageInfo } from '../build/pixels/decode/picture/image.js'

const SIZE = 224
const COUNT = 256
const ROUNDS = 5
const seconds = Number(process.argv[2] ?? 0.5)

let state = 1
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}

/** Smooth colours, edges and grain: about 30 kB at quality 90, as photographs have. */
function photo() {
  const rgb = new Uint8Array(SIZE * SIZE * 3)
  const waves = Array.from({ length: 18 }, () => [
    random() * 0.35,
    random() * 0.35,
    random() * 7,
    random() * 26,
  ])
  for (let y = 0, at = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      for (let c = 0; c < 3; c++) {
        let value = 128
        for (let i = c; i < waves.length; i += 2) {
          value += waves[i][3] * Math.sin(x * waves[i][0] + y * waves[i][1] + waves[i][2])
        }
        rgb[at++] = Math.max(0, Math.min(255, value + (random() - 0.5) * 70))
      }
    }
  }
  return encodeJpeg(rgb, SIZE, SIZE, 90)
}

/** The box that torchvision's RandomResizedCrop would draw. */
function cropBox() {
  for (;;) {
    const area = SIZE * SIZE * (0.08 + 0.92 * random())
    const ratio = Math.exp(Math.log(3 / 4) + random() * (Math.log(4 / 3) - Math.log(3 / 4)))
    const width = Math.round(Math.sqrt(area * ratio))
    const height = Math.round(Math.sqrt(area / ratio))
    if (width > SIZE || height > SIZE) continue
    const x = Math.floor(random() * (SIZE - width + 1))
    return { x, y: Math.floor(random() * (SIZE - height + 1)), width, height }
  }
}

const jpegs = Array.from({ length: COUNT }, photo)
const infos = jpegs.map(jpeg => imageInfo(jpeg))
const boxes = Array.from({ length: 4093 }, cropBox)
const work = Workspace.alone(1 << 22)
const memory = work.pointer(work.take(SIZE * SIZE * 3))
const bottom = work.mark()

const ways = {
  'library call, whole': i => decompress(jpegs[i % COUNT], SIZE, SIZE, memory, SIZE * 3, 'rgb'),
  'decodeImage, whole': i =>
    decodeImage(jpegs[i % COUNT], imageInfo(jpegs[i % COUNT]), { channels: 3 }, work),
  'decodeImage, region': i =>
    decodeImage(jpegs[i % COUNT], imageInfo(jpegs[i % COUNT]), { channels: 3, box: boxes[i % 4093] }, work),
  'decodeImage, region, header known': i =>
    decodeImage(jpegs[i % COUNT], infos[i % COUNT], { channels: 3, box: boxes[i % 4093] }, work),
  'imageInfo alone': i => imageInfo(jpegs[i % COUNT]),
}

const rates = Object.fromEntries(Object.keys(ways).map(name => [name, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, run] of Object.entries(ways)) {
    const until = performance.now() + seconds * 1000
    const start = process.cpuUsage()
    let done = 0
    while (performance.now() < until) {
      for (let k = 0; k < 16; k++) {
        run(done++)
        work.release(bottom)
      }
    }
    const { user, system } = process.cpuUsage(start)
    rates[name].push((done / (user + system)) * 1e6)
  }
}

const median = list => list.sort((a, b) => a - b)[list.length >> 1]
const kilobytes = jpegs.reduce((sum, jpeg) => sum + jpeg.length, 0) / COUNT / 1000
console.log(
  `${decoderVersions().jpeg}; ${COUNT} JPEGs of ${SIZE}×${SIZE}, ${kilobytes.toFixed(1)} kB on average`,
)
const ceiling = median(rates['library call, whole'])
for (const name of Object.keys(ways)) {
  const rate = median(rates[name])
  console.log(
    `${name.padEnd(36)}${rate.toFixed(0).padStart(9)} /s ${(rate / ceiling).toFixed(2).padStart(8)}`,
  )
}
