// What the exam's feeds read. Made once in a folder, and kept: JPEGs of 224² in a tar shard, some of them large in another,
// rows of 10 kB in a shard and as files, rows of 4 kB in one .npy file.
import { execFileSync } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TarWriter } from '../../build/tools/prepare/pack/tar-writer.js'
import { open } from '../../dist/index.js'
import { root } from '../support.mjs'

const SMALL = 10_000
const ROWS = 6000
const PICTURES = 2048

/** Makes what is missing. */
export async function makeData(folder) {
  if (existsSync(join(folder, 'done'))) return
  mkdirSync(join(folder, 'small'), { recursive: true })
  pack(join(folder, 'jpeg.tar'), PICTURES, await jpegs(224, 256), 'jpg')
  const large = await jpegs(1100, 4)
  const mixed = await jpegs(224, 256)
  pack(join(folder, 'mixed.tar'), PICTURES, mixed, 'jpg', i => (i % 50 === 7 ? large[i % 4] : undefined))
  const rows = Array.from({ length: 64 }, () => randomFillSync(new Uint8Array(SMALL)))
  pack(join(folder, 'small.tar'), ROWS, rows, 'bin')
  for (let i = 0; i < ROWS; i++) {
    const part = join(folder, 'small', String(i % 40))
    if (i < 40) mkdirSync(part, { recursive: true })
    writeFileSync(join(part, `${name(i)}.bin`), rows[i % rows.length])
  }
  writeFileSync(join(folder, 'rows.npy'), npy(20_000, 4096))
  for (const shard of ['jpeg', 'mixed', 'small']) {
    const words = [join(root, 'dist/cli/main.js'), 'index', join(folder, `${shard}.tar`)]
    execFileSync(process.execPath, words, { stdio: 'ignore' })
  }
  writeFileSync(join(folder, 'done.new'), '')
  renameSync(join(folder, 'done.new'), join(folder, 'done'))
}

const name = i => String(i).padStart(6, '0')

function pack(file, count, samples, column, other = () => undefined) {
  const writer = new TarWriter(file)
  for (let i = 0; i < count; i++) writer.add(name(i), { [column]: other(i) ?? samples[i % samples.length] })
  writer.close()
}

/** Synthetic pictures, which cost a decoder what photographs cost. */
async function jpegs(side, count) {
  const feed = {
    source: { synthetic: { count, images: { width: side, height: side, quality: 90 } } },
    order: 'none',
    fields: { jpg: { from: 'jpg', as: 'bytes', ragged: { max: 4_000_000 } } },
    batch: 1,
  }
  const found = []
  for await (const batch of open(feed, { workers: 0, epochs: 1 })) found.push(batch.jpg.values.slice())
  return found
}

function npy(rows, width) {
  const head = `{'descr': '|u1', 'fortran_order': False, 'shape': (${rows}, ${width}), }`
  const bytes = Buffer.alloc(128 + rows * width)
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0])
  bytes.write(`${head.padEnd(117)}\n`, 10, 'latin1')
  randomFillSync(bytes, 128)
  return bytes
}
