// Makes data/: shards of samples that have everything a sample can have, and a dataset in Python. Asked by make.mjs.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync, gzipSync } from 'node:zlib'

const SAMPLES = 22
const data = join(import.meta.dirname, 'data')

/** @param encodeJpeg that of the checkout: (rgb, width, height, quality) → bytes */
export function makeData(encodeJpeg) {
  mkdirSync(join(data, 'shards'), { recursive: true })
  const samples = Array.from({ length: SAMPLES }, (_, i) => sample(i, encodeJpeg))
  for (const [shard, part] of [samples.slice(0, 12), samples.slice(12)].entries())
    writeFileSync(join(data, 'shards', `train-000${shard}.tar`), tarOf(part.flat()))
  const code = `import pickle
numbers = [{"number": i * i, "text": "no. %d" % i} for i in range(30)]
with open("numbers.pickle", "wb") as file:
    pickle.dump({"kind": "dataset", "path": [], "main": None, "argv": [""]}, file, 4)
    pickle.dump({"dataset": numbers, "columns": None, "map": None, "count": None}, file, 4)`
  const { status, stderr } = spawnSync('python3', ['-c', code], { cwd: data, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

function sample(i, encodeJpeg) {
  const [width, height] = [24 + (i % 17), 20 + (i % 13)]
  const rgb = new Uint8Array(width * height * 3)
  for (let k = 0; k < rgb.length; k++)
    rgb[k] = 128 + 100 * Math.sin((k % (width * 3)) / (7 + i) + i) + 20 * Math.cos(k / (width * 11))
  const boxes = Array.from({ length: i % 4 }, (_, b) => [b * 3, b * 2, 8 + b * 3, 9 + b * 2, b])
  const points = Array.from({ length: (i * 3) % 5 }, (_, p) => [
    (p * 5 + i) % width,
    (p * 7 + 2 * i) % height,
  ])
  const key = `s${String(i).padStart(3, '0')}`
  const array = npy(
    Float32Array.from({ length: 6 }, (_, k) => i + k / 8),
    '<f4',
  )
  return Object.entries({
    jpg: encodeJpeg(rgb, width, height, 85),
    'mask.png': greyPng(i, width, height),
    'boxes.json': JSON.stringify(boxes),
    'points.json': JSON.stringify(points),
    cls: String((i * 7) % 10),
    flag: String(i % 2),
    txt: `sample ${i}${' ä€'.repeat(i % 5)}`,
    bin: Uint8Array.from({ length: (i * 7) % 23 }, (_, k) => i + k),
    npy: array,
    'note.txt.gz': gzipSync(`note ${i}`),
    packed: deflateSync(
      npy(
        Int32Array.from({ length: 6 }, (_, k) => i * 1000 - k),
        '<i4',
      ),
    ),
  }).map(([extension, bytes]) => ({ name: `${key}.${extension}`, bytes: Buffer.from(bytes) }))
}

function npy(values, descr) {
  const head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (2, 3), }`.padEnd(117)
  return Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'),
    Buffer.from(`${head}\n`),
    Buffer.from(values.buffer),
  ])
}

function greyPng(seed, width, height) {
  const lines = new Uint8Array(height * (width + 1)) // each line begins with its filter: none
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = (seed + (x >> 2) + (y >> 2)) % 5
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8 // bits
  const chunk = (type, bytes) => {
    const body = Buffer.concat([Buffer.from(type), bytes])
    const out = Buffer.alloc(body.length + 8)
    out.writeUInt32BE(bytes.length, 0)
    out.set(body, 4)
    out.writeUInt32BE(crc32(body), body.length + 4)
    return out
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function tarOf(members) {
  const blocks = members.flatMap(({ name, bytes }) => {
    const header = Buffer.alloc(512)
    header.write(name, 0)
    header.write('0000644\0', 100)
    header.write(`${bytes.length.toString(8).padStart(11, '0')}\0`, 124)
    header.write('00000000000\0', 136)
    header.write('0', 156)
    header.write('ustar\x0000', 257)
    header.fill(0x20, 148, 156)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}
