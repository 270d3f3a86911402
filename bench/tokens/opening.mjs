// How long it takes to open very large token files: node bench/tokens/opening.mjs [--documents 100000000] [--gigabytes 100] [--folder DIR]
//
// A sparse .bin of 100 GB, and an .idx with 100 M documents, which is written out (2 GB) and removed at the end. Opening reads headers
// alone; the first row reads its bytes, which are zeros.
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { open } from '../../dist/index.js'
import { median, stamp } from '../support.mjs'

const { values } = parseArgs({
  options: {
    documents: { type: 'string', default: '100000000' },
    gigabytes: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '7' },
    folder: { type: 'string', default: join(tmpdir(), 'millrace-bench-opening') },
  },
})
const documents = Number(values.documents)
const each = Math.floor((Number(values.gigabytes) * 1e9) / 2 / documents)
mkdirSync(values.folder, { recursive: true })
const prefix = join(values.folder, 'large')
try {
  write()
  const times = { opened: [], first: [] }
  for (let round = 0; round < Number(values.rounds); round++) {
    const begun = performance.now()
    const feed = {
      source: { tokens: { path: `${prefix}.bin`, length: 2048 } },
      order: { shuffle: 'global' },
      batch: 8,
    }
    const loader = open(feed, { workers: 0, notice: () => {} })
    await loader.ready
    times.opened.push(performance.now() - begun)
    for await (const batch of loader) {
      if (batch.count !== 8) throw new Error('a batch of another size')
      times.first.push(performance.now() - begun)
      break
    }
    await loader.close()
  }
  const result = Object.fromEntries(Object.entries(times).map(([name, all]) => [`${name}Ms`, median(all)]))
  console.log(
    JSON.stringify({ documents, tokens: documents * each, ...result, values: times, ...stamp() }, null, 2),
  )
} finally {
  rmSync(values.folder, { recursive: true, force: true })
}

/** The two files, as Megatron-LM lays them out: u16, documents of one length. */
function write() {
  const bin = openSync(`${prefix}.bin`, 'w')
  ftruncateSync(bin, documents * each * 2)
  closeSync(bin)
  const idx = openSync(`${prefix}.idx`, 'w')
  const head = Buffer.alloc(34)
  head.write('MMIDIDX\0\0', 'latin1')
  head.writeBigUInt64LE(1n, 9)
  head.writeUInt8(8, 17)
  head.writeBigUInt64LE(BigInt(documents), 18)
  head.writeBigUInt64LE(BigInt(documents + 1), 26)
  writeSync(idx, head)
  pieces(documents, n => new Int32Array(n).fill(each), idx)
  pieces(documents, (n, at) => BigInt64Array.from({ length: n }, (_, i) => BigInt((at + i) * each * 2)), idx)
  pieces(documents + 1, (n, at) => BigInt64Array.from({ length: n }, (_, i) => BigInt(at + i)), idx)
  closeSync(idx)
}

function pieces(count, make, fd) {
  const most = 1 << 20
  for (let at = 0; at < count; at += most)
    writeSync(fd, new Uint8Array(make(Math.min(most, count - at), at).buffer))
}
