// Opens 1,000 Parquet files of 1,000 row groups and 10 columns, and says when the first batch came: without indexes, then with them.
// Each time in a process of its own; --save keeps the result.
//
//   node bench/formats/opening.mjs [--save] [--python python3]
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keep, median, root, stamp } from '../support.mjs'

const FILES = 1000
const TIMES = 5

if (process.argv[2] === '--once') await once(process.argv[3])
else compare()

/** From `open` to the first batch, and the most memory of the process until then. */
async function once(folder) {
  const { open } = await import('../../dist/index.js')
  const begun = performance.now()
  const feed = {
    source: { parquet: join(folder, '*.parquet') },
    order: { shuffle: { window: 20_000 }, seed: 1 },
    fields: { x: { from: 'c1', as: 'int' } },
    batch: 64,
  }
  const loader = open(feed, { workers: 2, notice: () => {} })
  for await (const _ of loader) {
    const now = performance.now()
    console.log(
      JSON.stringify({ ms: now - begun, sinceStart: now, mb: process.resourceUsage().maxRSS / 1000 }),
    )
    break
  }
  await loader.close()
}

function compare() {
  const at = process.argv.indexOf('--python')
  const python = at < 0 ? 'python3' : process.argv[at + 1]
  const folder = join(tmpdir(), 'millrace-bench-opening')
  if (!existsSync(folder))
    execFileSync(python, [join(root, 'bench/formats/scale.py'), 'parquet', folder, String(FILES)])
  // Indexes lie beside the data, what was found of all files in the cache folder.
  for (const name of readdirSync(folder)) if (name.endsWith('.millrace')) rmSync(join(folder, name))
  const cache = mkdtempSync(join(tmpdir(), 'millrace-cache-'))
  const run = () =>
    JSON.parse(
      execFileSync(process.execPath, [fileURLToPath(import.meta.url), '--once', folder], {
        env: { ...process.env, MILLRACE_CACHE: cache },
        encoding: 'utf8',
      }),
    )
  const first = run()
  const again = Array.from({ length: TIMES }, run)
  rmSync(cache, { recursive: true })
  const middle = name => Math.round(median(again.map(one => one[name])))
  const result = {
    ...stamp(),
    command: 'node bench/formats/opening.mjs --save',
    what: `${FILES} Parquet files of 1,000 row groups and 10 columns, two workers, page cache warm, medians of ${TIMES} processes`,
    first: { toFirstBatchMs: Math.round(first.ms), peakMB: Math.round(first.mb) },
    withIndex: {
      toFirstBatchMs: middle('ms'),
      fromStartOfProcessMs: middle('sinceStart'),
      peakMB: middle('mb'),
    },
  }
  keep('opening', result)
}
