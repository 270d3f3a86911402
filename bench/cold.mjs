// Rows a second from a cold disk, before and after a change, in interleaved pairs; and what the disk gives to a plain loop.
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { coldData, deviceOf, filesOf, ROW } from './cold/data.mjs'
import { compare } from './pairs/interval.mjs'
import { keep, median, root, stamp } from './support.mjs'

const HELP = `Rows a second from files that are not in the page cache: global order, windowed order, raw rows, JPEGs.

  node bench/cold.mjs [--before DIR] [options]

  --before DIR   another built checkout, to be compared with this one
  --data DIR     where the data are made and kept, 3 GB; on a disk, not in memory (the temporary folder)
  --only LIST    feeds, of raw,jpeg,windowed (all)
  --pairs N      rounds of each feed and side (7)
  --rows N       rows of a round (20000; JPEGs half of that)
  --workers N    workers (as many as cores)
  --drop HOW     files: drop the pages of these files (posix_fadvise, by dd); all: drop the whole page cache, needs root (files)
  --realtime     run the rounds before all other programs of this machine (chrt, needs root): for one with neighbours
  --save         keep the result as bench/results/cold.json

A ratio is the speed after divided by the speed before, with its 95 % interval, from pairs that read the same rows.
`
const { values: told } = parseArgs({
  options: {
    before: { type: 'string' },
    data: { type: 'string', default: join(tmpdir(), 'millrace-bench-cold') },
    only: { type: 'string', default: 'raw,jpeg,windowed' },
    pairs: { type: 'string', default: '7' },
    rows: { type: 'string', default: '20000' },
    workers: { type: 'string', default: String(availableParallelism()) },
    drop: { type: 'string', default: 'files' },
    realtime: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (told.help) {
  console.log(HELP)
  process.exit(0)
}

/** Rows of each data set: 1.5 GB. */
const STORED = 50_000
const folder = resolve(told.data)
const [rows, pairs] = [Number(told.rows), Number(told.pairs)]
const sources = await coldData(folder, STORED)
const disk = deviceOf(folder)
if (disk.fileSystem === 'tmpfs')
  throw new Error(`--data ${folder} lies in memory (tmpfs): name a folder on a disk`)

const row = { row: { from: 'bin', as: 'npy', dtype: 'u8', shape: [ROW] } }
const crop = [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }]
const image = { image: { from: 'jpg', as: 'image', apply: crop } }
/** Each feed, and the rows of a round: a JPEG takes ten times as long. */
const feeds = {
  raw: { rows, source: sources.raw, fields: row, shuffle: 'global' },
  jpeg: { rows: Math.ceil(rows / 2), source: sources.jpeg, fields: image, shuffle: 'global' },
  windowed: { rows, source: sources.raw, fields: row, shuffle: { window: 4096 } },
}

/** Makes files cold. What was written to them goes to the disk first: dirty pages stay. */
function drop(files) {
  execFileSync('sync', files)
  if (told.drop === 'all') return writeFileSync('/proc/sys/vm/drop_caches', '1')
  for (const file of files) execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none'])
}

/** The most bytes of its files that the page cache still had before a round. */
let left = 0
function noteLeft(files) {
  const args = ['--bytes', '--noheadings', '--output', 'RES', ...files]
  const lines = execFileSync('fincore', args, { encoding: 'utf8' }).trim().split('\n')
  left = Math.max(
    left,
    lines.reduce((sum, bytes) => sum + Number(bytes), 0),
  )
}

/** One round in a process of its own, over cold files: rows a second, and µs of CPU a row. */
function round(files, script, ...args) {
  drop(files)
  noteLeft(files)
  const first = told.realtime ? ['chrt', '--rr', '1'] : []
  const [command, ...rest] = [...first, process.execPath, join(root, 'bench/cold', script), ...args]
  const got = spawnSync(command, rest, { encoding: 'utf8' })
  if (got.status !== 0) throw new Error(got.error?.message ?? got.stderr)
  const { rows, ms, cpuMs } = JSON.parse(got.stdout)
  return { rate: (rows / ms) * 1000, cpuUs: (cpuMs * 1000) / rows }
}

function fed(checkout, name, seed) {
  const { source, shuffle, fields, rows } = feeds[name]
  const feed = { source, order: { shuffle, seed }, fields, batch: 64 }
  return round(filesOf(source), 'side.mjs', resolve(checkout), JSON.stringify(feed), rows, told.workers)
}

function plain(ahead, seed) {
  const files = filesOf(sources.raw)
  return round(files, 'plain.mjs', JSON.stringify([files, rows, ahead, seed]))
}

const sides = told.before ? { before: told.before, after: root } : { after: root }
const results = {}
for (let pair = 0; pair <= pairs; pair++) {
  const take = (name, side, run) => {
    const got = run(pair)
    const [rate, cpu] = [got.rate.toFixed(0), got.cpuUs.toFixed(0)]
    process.stderr.write(`${pair}/${pairs} ${name}, ${side}: ${rate}/s, ${cpu} µs of CPU\n`)
    // Pair 0 is not counted: what lies below the page cache (a host's memory, the disk's) gets to know the data.
    if (pair > 0) ((results[name] ??= {})[side] ??= []).push(got)
  }
  for (const name of told.only.split(',')) {
    const names = Object.keys(sides)
    for (const side of pair % 2 ? names : names.reverse())
      take(name, side, seed => fed(sides[side], name, seed))
  }
  for (const ahead of [0, 16]) take('plain', `${ahead} ahead`, seed => plain(ahead, seed))
}

function summary(rounds) {
  const rates = rounds.map(one => one.rate)
  const cpuUs = median(rounds.map(one => one.cpuUs))
  return { median: median(rates), min: Math.min(...rates), max: Math.max(...rates), cpuUs, values: rates }
}

function summaries({ before, after, ...others }) {
  const all = { ...(before && { before }), ...(after && { after }), ...others }
  const ratio = before && compare(after.map((one, i) => one.rate / before[i].rate))
  return {
    ...Object.fromEntries(Object.entries(all).map(([side, rounds]) => [side, summary(rounds)])),
    ...(ratio && { ratio }),
  }
}

const commitOf = folder =>
  execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
const flags = [told.before && '--before DIR', told.realtime && '--realtime'].filter(Boolean).join(' ')
keep('cold', {
  ...stamp(),
  ...(told.before && { before: commitOf(told.before) }),
  command: `node bench/cold.mjs ${flags} --pairs ${pairs} --rows ${rows} --workers ${told.workers} --drop ${told.drop}`,
  what: 'rows of 30 kB a second, each round a process of its own, in turns; plain: one thread that reads, the kernel told of none, or of 16 reads ahead',
  cache: `page cache dropped before each round (${told.drop}); ${left} bytes of the files were left in it at most`,
  disk,
  workers: Number(told.workers),
  results: Object.fromEntries(Object.entries(results).map(([name, got]) => [name, summaries(got)])),
})
