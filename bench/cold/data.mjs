// What bench/cold.mjs reads: tar shards of rows of 30 kB, far more than a run reads, so that it doesn't come upon what the
// kernel read ahead. Made once, and kept.
import { execFileSync } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TarWriter } from '../../build/tools/prepare/pack/tar-writer.js'
import { open } from '../../dist/index.js'
import { root } from '../support.mjs'

const SHARDS = 8
/** Bytes of a raw row. */
export const ROW = 30_000

/** `rows` rows of random bytes, and as many JPEGs of 224² and about 30 kB, in 8 shards each. Returns both sources. */
export async function coldData(folder, rows) {
  const jpegs = await pictures()
  return {
    raw: shards(join(folder, `raw-${rows}`), rows, () => ({ bin: randomFillSync(new Uint8Array(ROW)) })),
    jpeg: shards(join(folder, `jpeg-${rows}`), rows, i => ({ jpg: jpegs[i % jpegs.length] })),
  }
}

function shards(folder, rows, sample) {
  const source = { tar: join(folder, `cold-{0000..${String(SHARDS - 1).padStart(4, '0')}}.tar`) }
  if (existsSync(join(folder, 'done'))) return source
  mkdirSync(folder, { recursive: true })
  const each = Math.ceil(rows / SHARDS)
  for (let shard = 0; shard < SHARDS; shard++) {
    const writer = new TarWriter(join(folder, `cold-${String(shard).padStart(4, '0')}.tar`))
    for (let i = shard * each; i < Math.min(rows, (shard + 1) * each); i++)
      writer.add(String(i).padStart(8, '0'), sample(i))
    writer.close()
  }
  execFileSync(process.execPath, [join(root, 'dist/cli/main.js'), 'index', source.tar], { stdio: 'ignore' })
  writeFileSync(join(folder, 'done.new'), '')
  renameSync(join(folder, 'done.new'), join(folder, 'done'))
  return source
}

/** A few hundred different JPEGs. They are written many times over: it is the place on the disk that counts. */
async function pictures() {
  const source = {
    synthetic: { count: 256, images: { width: 224, height: 224, quality: 90, classes: 1000 } },
  }
  const feed = {
    source,
    order: 'none',
    fields: { jpg: { from: 'jpg', as: 'bytes', ragged: { max: 100_000 } } },
    batch: 1,
  }
  const found = []
  for await (const batch of open(feed, { workers: 0, epochs: 1 })) found.push(batch.jpg.values.slice())
  return found
}

/** The files of a source of ours. */
export function filesOf({ tar }) {
  return Array.from({ length: SHARDS }, (_, i) => tar.replace(/\{.*\}/, String(i).padStart(4, '0')))
}

/** The device that a folder lies on: its name, and the bytes that the kernel reads ahead on it. */
export function deviceOf(folder) {
  const [source, kind] = execFileSync('findmnt', ['-no', 'SOURCE,FSTYPE', '-T', folder], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
  const name = source.replace('/dev/', '')
  const number = file => {
    const path = join('/sys/class/block', name, file)
    return existsSync(path) ? Number(readFileSync(path, 'utf8')) : undefined
  }
  return {
    device: source,
    fileSystem: kind,
    readAheadKiB: number('queue/read_ahead_kb') ?? number('../queue/read_ahead_kb'),
  }
}
