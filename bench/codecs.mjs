// MB/s of output of each codec, one thread, warm: by libraries of the system, by Node and kernels alone, and what Python's libraries do.
// Each turn is a process of its own, the best of three passes, by CPU time: other programs don't count. Needs Python with the packages that codecs.py imports.
//
//   node bench/codecs.mjs [--save] [--rounds 5] [--python python3]
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32c } from '../build/core/codec/checksum.js'
import { decompressInto } from '../build/core/codec/codec.js'
import { unshuffle } from '../build/core/codec/shuffle.js'
import { keep, median, root, stamp } from './support.mjs'

const option = (name, otherwise) => {
  const at = process.argv.indexOf(name)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const NAMES = [
  ...['deflate', 'zlib', 'zstd', 'lz4', 'lz4-block', 'snappy', 'lzf'],
  ...['blosc-blosclz', 'blosc-lz4', 'blosc-lz4-bits', 'blosc-zlib', 'blosc-zstd', 'shuffle', 'crc32c'],
]
const TEXT_BYTES = 147_000_000
const SOME_BYTES = 32_000_000
const folder = join(tmpdir(), 'millrace-bench-codecs')
const python = (...args) =>
  execFileSync(option('--python', 'python3'), [join(root, 'bench/codecs.py'), ...args], { encoding: 'utf8' })

/** The rates of this process. */
function rates() {
  const found = {}
  // A unit is decompressed into shared memory: the cache.
  const into = new Uint8Array(new SharedArrayBuffer(TEXT_BYTES))
  for (const name of NAMES) {
    const from = readFileSync(join(folder, name))
    const bytes = name === 'deflate' ? TEXT_BYTES : SOME_BYTES
    const out = into.subarray(0, bytes)
    const run = {
      shuffle: () => unshuffle(from, out, 4),
      crc32c: () => crc32c(from),
    }[name]
    let best = Infinity
    for (let pass = 0; pass < 3; pass++) {
      const begun = process.cpuUsage()
      if (run === undefined) decompressInto(name.startsWith('blosc') ? 'blosc' : name, from, out)
      else run()
      const { user, system } = process.cpuUsage(begun)
      best = Math.min(best, (user + system) / 1e3)
    }
    found[name] = bytes / best / 1e3
  }
  return found
}

if (process.argv.includes('--one')) {
  console.log(JSON.stringify(rates()))
} else {
  if (!existsSync(folder)) {
    mkdirSync(`${folder}.part`, { recursive: true })
    python(`${folder}.part`, 'make')
    renameSync(`${folder}.part`, folder)
  }
  const own = codecs => {
    const env = { ...process.env, MILLRACE_CODECS: codecs }
    return JSON.parse(execFileSync(process.execPath, [process.argv[1], '--one'], { env, encoding: 'utf8' }))
  }
  let versions = {}
  const contenders = {
    libraries: () => own(''),
    kernels: () => own('node'),
    python: () => {
      const said = JSON.parse(python(folder, 'measure'))
      versions = said.versions
      return said.rates
    },
  }
  const values = Object.fromEntries(
    NAMES.map(name => [name, Object.fromEntries(Object.keys(contenders).map(by => [by, []]))]),
  )
  const rounds = Number(option('--rounds', 5))
  for (let round = 0; round < rounds; round++) {
    for (const [by, run] of Object.entries(contenders)) {
      const found = run()
      for (const name of NAMES) if (found[name] !== undefined) values[name][by].push(Math.round(found[name]))
      process.stderr.write(`round ${round + 1}/${rounds} ${by}\n`)
    }
  }
  const codecs = Object.fromEntries(
    Object.entries(values).map(([name, by]) => [
      name,
      Object.fromEntries(
        Object.entries(by)
          .filter(([, all]) => all.length > 0)
          .map(([who, all]) => [who, { median: median(all), values: all }]),
      ),
    ]),
  )
  const { versions: ours, ...about } = stamp()
  keep('codecs', {
    ...about,
    versions: { ...ours, ...versions },
    command: 'node bench/codecs.mjs --save',
    unit: 'MB of output a second of CPU time, one thread',
    codecs,
  })
}
