// The data that benchmarks read. It is made in the temporary folder the first time and kept there.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import '../build/all/registry.js'
import { encodeJpeg } from '../build/core/system/codecs/turbojpeg.js'
import { pack } from '../build/tools/prepare/pack/pack.js'
import { TarWriter } from '../build/tools/prepare/pack/tar-writer.js'
import { root } from './support.mjs'

/** `samples` JPEGs of 224² and about 30 kB in four tar shards. Returns the source. */
export async function pictures(samples, workers) {
  const folder = join(tmpdir(), `millrace-bench-${samples}`)
  if (!existsSync(join(folder, 'bench-shards.json'))) {
    const source = {
      synthetic: { count: samples, images: { width: 224, height: 224, quality: 90, classes: 1000 } },
    }
    await pack(source, { out: folder, prefix: 'bench', division: { shards: 4 }, workers })
  }
  return { tar: join(folder, 'bench-*.tar') }
}

const SHARDS = 128
const PER_SHARD = 10_000

/** 1.28 million tiny pictures in 128 indexed tar shards: it is the number of samples that counts here. Returns the source. */
export function manySamples() {
  const folder = join(tmpdir(), 'millrace-bench-ready')
  const source = { tar: join(folder, 'ready-{0000..0127}.tar') }
  if (existsSync(join(folder, 'done'))) return source
  mkdirSync(folder, { recursive: true })
  const jpeg = encodeJpeg(new Uint8Array(16 * 16 * 3).fill(99), 16, 16, 50)
  const text = new TextEncoder()
  for (let shard = 0; shard < SHARDS; shard++) {
    const writer = new TarWriter(join(folder, `ready-${String(shard).padStart(4, '0')}.tar`))
    for (let i = 0; i < PER_SHARD; i++) {
      const number = shard * PER_SHARD + i
      writer.add(String(number).padStart(8, '0'), { jpg: jpeg, cls: text.encode(String(number % 1000)) })
    }
    writer.close()
  }
  const index = spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), 'index', source.tar])
  if (index.status !== 0) throw new Error(String(index.stderr))
  writeFileSync(join(folder, 'done.new'), '')
  renameSync(join(folder, 'done.new'), join(folder, 'done'))
  return source
}

const RAW = 4096
const SIDE = 256

/** Pictures of 256² that need no decoding, as .npy in one tar shard. Returns the source. */
export function rawPictures() {
  const folder = join(tmpdir(), 'millrace-bench-raw')
  const shard = join(folder, 'raw-0000.tar')
  if (existsSync(shard)) return { tar: shard }
  mkdirSync(folder, { recursive: true })
  const header = "{'descr': '|u1', 'fortran_order': False, 'shape': (256, 256, 3), }"
  const npy = new Uint8Array(128 + SIDE * SIDE * 3)
  npy.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0])
  npy.set(new TextEncoder().encode(`${header.padEnd(117)}\n`), 10)
  const writer = new TarWriter(shard)
  for (let i = 0; i < RAW; i++) {
    for (let at = 128; at < npy.length; at++) npy[at] = (at * 7 + i * 31 + ((at * at) >> 5)) & 255
    writer.add(String(i).padStart(6, '0'), { npy, cls: new TextEncoder().encode(String(i % 10)) })
  }
  writer.close()
  return { tar: shard }
}
