// The data that benchmarks read. It is made in the temporary folder the first time and kept there.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pack } from '../dist/prepare/pack/pack.js'
import { TarWriter } from '../dist/prepare/pack/tar-writer.js'
import { encodeJpeg } from '../dist/system/codecs/turbojpeg.js'
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
