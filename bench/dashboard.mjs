// What a dashboard costs that is open: the same feed, in turns with a dashboard attached and a page that reads its events, and
// without. One run goes on all the time, and so does the dashboard: for the turns without it, its process is stopped (SIGSTOP), so
// that turns can be short and many. What starting it takes is told apart.
//
//   node bench/dashboard.mjs [--pairs 60] [--seconds 3] [--workers 2] [--step-ms 0] [--gallery]
//
// Prints one JSON line a pair, then the median of with/without with a 95 % interval, and the cores that the dashboard used.
// --gallery: the page looks at gallery and timeline every 2 s as well.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { attachSpans } from '../build/core/spans/attach.js'

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '3' },
    workers: { type: 'string', default: String(Math.max(1, cpus().length)) },
    'step-ms': { type: 'string', default: '0' },
    gallery: { type: 'boolean', default: false },
  },
})
const cli = join(import.meta.dirname, '../dist/cli/main.js')
const seconds = Number(values.seconds)
/** A moment for run and dashboard to start, and for a change to be felt (ms). */
const START = 5000
const SETTLE = 300

const file = join(tmpdir(), `millrace-dashboard-${process.pid}.json`)
writeFileSync(
  file,
  JSON.stringify({
    source: { synthetic: { count: 2000, images: { width: 256, height: 256, classes: 10 } } },
    order: { shuffle: 'global', seed: 1 },
    fields: {
      image: {
        ...{ from: 'jpg', as: 'image' },
        apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
      },
      label: { from: 'cls', as: 'int' },
    },
    batch: 64,
  }),
)
const run = spawn(
  process.execPath,
  [
    ...[cli, 'run', file, '--endless', '--starter', String(process.pid), '--workers', values.workers],
    ...['--depth', '4', '--step-ms', values['step-ms']],
  ],
  { stdio: ['ignore', 'ignore', 'inherit'] },
)

/** Rows that were taken since the beginning. */
function taken(spans) {
  let rows = 0
  for (const { lane, rings } of spans.counters())
    if (lane.kind === 'consumer') for (const ring of rings) rows += ring.rows
  return rows
}

async function measure(spans) {
  const [before, from] = [taken(spans), performance.now()]
  await sleep(1000 * seconds)
  return (taken(spans) - before) / ((performance.now() - from) / 1000)
}

/** A dashboard in a process of its own, and a page in this one. */
async function dashboard() {
  const child = spawn(
    process.execPath,
    [cli, 'dashboard', '--attach', String(run.pid), '--port', '0', '--json'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const { port, token } = await new Promise(resolve => {
    let text = ''
    child.stdout.on('data', part => {
      text += part
      if (text.endsWith('\n')) resolve(JSON.parse(text))
    })
  })
  const headers = { authorization: `Bearer ${token}` }
  const page = await fetch(`http://127.0.0.1:${port}/api/events`, { headers })
  const shown = { pid: child.pid, events: 0, isOpen: true }
  void (async () => {
    for await (const part of page.body)
      shown.events += Buffer.from(part).toString('latin1').split('event: now').length - 1
  })().catch(() => {})
  if (values.gallery)
    setInterval(async () => {
      if (!shown.isOpen) return
      const ask = async path => (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).text()
      await Promise.all(['/api/gallery', '/api/timeline'].map(ask))
    }, 2000)
  return { child, shown }
}

/** Seconds of CPU time of a process. */
function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const spans = await opened()
const { child, shown } = await dashboard()
await sleep(START)
const startCpu = cpuOf(child.pid)
const pairs = []
for (let pair = 0; pair < Number(values.pairs); pair++) {
  const found = { pair }
  // In turns, and the first in turns as well.
  for (const which of pair % 2 === 0 ? ['without', 'with'] : ['with', 'without']) {
    shown.isOpen = which === 'with'
    child.kill(shown.isOpen ? 'SIGCONT' : 'SIGSTOP')
    await sleep(SETTLE)
    const [cpu, events, from] = [cpuOf(child.pid), shown.events, performance.now()]
    found[which] = await measure(spans)
    if (shown.isOpen) {
      found.cores = (cpuOf(child.pid) - cpu) / ((performance.now() - from) / 1000)
      found.events = shown.events - events
    }
  }
  found.ratio = found.with / found.without
  pairs.push(found)
  console.log(JSON.stringify(found))
}
child.kill('SIGCONT')
child.kill('SIGTERM')
const ratios = pairs.map(({ ratio }) => ratio).sort((a, b) => a - b)
const median = ratios[ratios.length >> 1]
const [low, high] = interval(ratios)
const mean = name => pairs.reduce((sum, one) => sum + one[name], 0) / pairs.length
console.log(
  JSON.stringify({
    median,
    low,
    high,
    cost: `${(100 * (1 - median)).toFixed(1)} %`,
    cores: mean('cores'),
    eventsASecond: mean('events') / seconds,
    cpuSecondsToStart: startCpu,
    ...values,
  }),
)
run.kill('SIGTERM')
rmSync(file)
process.exit(0)

/** 95 % interval of the median, by order statistics (about: of few pairs, their least and greatest). */
function interval(sorted) {
  const n = sorted.length
  const off = Math.floor(n / 2 - 0.98 * Math.sqrt(n))
  const from = Math.max(0, off)
  return [sorted[from], sorted[n - 1 - from]]
}

async function opened() {
  for (;;) {
    try {
      const found = attachSpans(run.pid)
      if (taken(found) > 0) return found
      found.close()
    } catch {
      // It has not begun.
    }
    await sleep(100)
  }
}
