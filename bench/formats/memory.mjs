// Whether memory depends on the size of the data: peaks of a process with two workers that feeds 1 GB, and one that feeds 50 GB. The
// files are sparse, or links to one file, and take 1 GB of disk (scale.py).
//
//   node bench/formats/memory.mjs [--save] [--sizes 1,50] [--steps 600] [--python python3] [--only npy,Parquet]
//
// Anonymous and shared memory are what a process takes from others. Pages of index files are counted apart: the system gives them
// up when memory is short, and all processes of a host share them.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keep, root, stamp } from '../support.mjs'

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const sizes = option('sizes', '1,50').split(',').map(Number)
const steps = Number(option('steps', 600))
const only = option('only', '').split(',')
/** The cache is a budget: given, so that it is the same for both sizes. */
const CACHE = 256 << 20
const SAMPLED_MS = 20

const array = { x: { from: 'x', as: 'npy', shape: [16384], dtype: 'f32' } }
const text = { text: { from: 'text', as: 'text', ragged: { max: 2000 } } }
const CASES = {
  npy: (folder, size) => [
    { npy: { path: join(folder, `x-${size}.npy`), rows: 'axis' } },
    { x: { ...array.x, from: 'data' } },
  ],
  'HDF5 contiguous': (folder, size) => [
    { hdf5: { path: join(folder, `whole-${size}.h5`), datasets: { x: '/x' } } },
    array,
  ],
  'HDF5 chunks': (folder, size) => [
    { hdf5: { path: join(folder, `chunks-${size}.h5`), datasets: { x: '/x' } } },
    array,
  ],
  Parquet: (folder, size) => [{ parquet: join(folder, `lists-${size}/*.parquet`) }, array],
  jsonl: (folder, size) => [{ jsonl: join(folder, `lines-${size}/*.jsonl`) }, text],
}
const ORDERS = {
  window: { shuffle: { window: 1024 }, seed: 1 },
  global: { shuffle: 'global', seed: 1 },
}

if (process.argv[2] === '--feed') await feed(JSON.parse(process.argv[3]))
else await compare()

async function compare() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-memory-'))
  const results = []
  try {
    for (const size of sizes) {
      execFileSync(option('python', 'python3'), [
        join(root, 'bench/formats/scale.py'),
        'memory',
        folder,
        String(size),
      ])
      for (const [name, caseOf] of Object.entries(CASES)) {
        if (!only.some(part => name.includes(part))) continue
        const [source, fields] = caseOf(folder, size)
        await indexLinks(folder, size, source)
        for (const [order, json] of Object.entries(ORDERS)) {
          const definition = { source, fields, order: json, batch: 16 }
          const told = execFileSync(
            process.execPath,
            [fileURLToPath(import.meta.url), '--feed', JSON.stringify(definition), '--steps', String(steps)],
            { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
          )
          results.push({ name, order, size, ...JSON.parse(told) })
          process.stderr.write(`${JSON.stringify(results.at(-1))}\n`)
        }
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const what = `peak MiB of a process with 2 workers, cache ${CACHE >> 20} MiB, ${steps} batches of 16; sizes in GB`
  keep('memory', { ...stamp(), command: 'node bench/formats/memory.mjs', what, sizes, results })
}

/** Links are one file: the index of the first is that of all. */
async function indexLinks(folder, size, source) {
  const [[kind]] = Object.entries(source)
  const links = { parquet: `lists-${size}`, jsonl: `lines-${size}` }[kind]
  if (links === undefined) return
  const [first, ...others] = readdirSync(join(folder, links)).filter(name => !name.startsWith('.'))
  const { openSource } = await import('../../build/core/source/registry.js')
  await openSource({ [kind]: join(folder, links, first) }, { root: folder, wanted: [] })
  const index = name => join(folder, links, `.${name}.millrace`)
  for (const name of others) copyFileSync(index(first), index(name))
}

/** Feeds some batches; prints the peaks. */
async function feed(definition) {
  const { open } = await import('../../dist/index.js')
  const peak = { rss: 0, own: 0, index: 0 }
  const look = () => {
    const told = readFileSync('/proc/self/status', 'utf8')
    const [anonymous, file, shared] = ['RssAnon', 'RssFile', 'RssShmem'].map(
      name => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(told)[1]) / 1024,
    )
    peak.rss = Math.max(peak.rss, anonymous + file + shared)
    peak.own = Math.max(peak.own, anonymous + shared)
    peak.index = Math.max(peak.index, file)
  }
  const timer = setInterval(look, SAMPLED_MS)
  const loader = await open(definition, { workers: 2, cache: CACHE })
  let batches = 0
  for await (const _ of loader) {
    look()
    if (++batches === steps) break
  }
  clearInterval(timer)
  await loader.close()
  const rounded = Object.fromEntries(Object.entries(peak).map(([name, mib]) => [name, Math.round(mib)]))
  console.log(JSON.stringify({ batches, ...rounded }))
}
