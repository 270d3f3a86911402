// What each level of spans costs: throughput with counters, spans and full, divided by that without any, in interleaved pairs.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { pictures } from './data.mjs'
import { memoryFeed, pictureFeed } from './loops.mjs'
import { compare, halfWidth, judged } from './pairs/interval.mjs'
import { Turns } from './pairs/turns.mjs'
import { keep, median, root, stamp } from './support.mjs'

const HELP = `Measures what the levels of spans cost, against MILLRACE_SPANS=0, in interleaved pairs in one process.

  node bench/spans.mjs [options]

  --only LIST    feeds, of rows,pictures (both): rows of 4 kB from memory; JPEGs of 224²
  --levels LIST  of counters,spans,full (all)
  --seconds N    seconds of a turn (0.4)
  --pairs N      at most so many pairs of each feed and level (100)
  --minutes N    start no further pair after so many minutes (20)
  --save         write bench/results/spans.json and spans.md

A ratio is the speed with a level divided by that without: less than 1 is slower. Wanted: counters 0.99, spans 0.98, full
0.95. "Met" means that the lower end of the 95 % interval is at least that, "missed" that the upper end is below. It ends when all
intervals are ±0.5 % wide. Where the wall clock differs by more than 3 % from pair to pair, CPU time judges. It needs only dist/ and
node_modules/: no network. Exit status 0: all met; 1: not; 2: it could not measure.

Example:  npm run build && node bench/spans.mjs --save
`
const BARS = { counters: 0.99, spans: 0.98, full: 0.95 }
const FEEDS = ['rows', 'pictures']
const WIDTH = 0.005
const FIRST_LOOK = 10

const say = text => process.stderr.write(`${text}\n`)

function told() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: FEEDS.join() },
      levels: { type: 'string', default: Object.keys(BARS).join() },
      seconds: { type: 'string', default: '0.4' },
      pairs: { type: 'string', default: '100' },
      minutes: { type: 'string', default: '20' },
      save: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const list = (name, known) => {
    const given = values[name].split(',')
    const odd = given.find(one => !known.includes(one))
    if (odd !== undefined) throw new Error(`--${name} ${odd}: expected some of ${known.join(', ')}`)
    return given
  }
  for (const name of ['seconds', 'pairs', 'minutes'])
    if (!(Number(values[name]) > 0)) throw new Error(`--${name} ${values[name]} is no positive number`)
  const [seconds, pairs, minutes] = [values.seconds, values.pairs, values.minutes].map(Number)
  return { only: list('only', FEEDS), levels: list('levels', Object.keys(BARS)), seconds, pairs, minutes }
}

/** Turns of one feed without spans and with a level. Each side is a copy of the build: spans are turned on and off a process. */
class LevelTurns extends Turns {
  async open({ side, folder }) {
    // It is looked at when the first feed of a build is opened, and when its ring is made.
    process.env.MILLRACE_SPANS = side === 'before' ? '0' : this.level
    try {
      const { open } = await import(pathToFileURL(join(folder, 'dist/index.js')).href)
      const loader = open(this.feed, this.options)
      await loader.ready
      return loader
    } finally {
      delete process.env.MILLRACE_SPANS
    }
  }
}

function feedsOf({ source, workers }) {
  return {
    rows: { feed: memoryFeed(256), open: { workers: 1, depth: 8 }, counted: 256 },
    pictures: { feed: source && pictureFeed(source, 'u8', 64), open: { workers, depth: 4 }, counted: 64 },
  }
}

function judge({ name, level, pairs }) {
  const by = clock => {
    const values = side => pairs.map(pair => pair[side][clock])
    const result = compare(pairs.map(({ before, after }) => before[clock] / after[clock]))
    return { ...result, withoutMs: median(values('before')), withMs: median(values('after')) }
  }
  const [wall, cpu] = [by('wall'), by('cpu')]
  const judge = judged(wall, cpu)
  const { low, high } = judge === 'wall' ? wall : cpu
  const bar = BARS[level]
  return {
    name,
    level,
    bar,
    judge,
    verdict: low >= bar ? 'met' : high < bar ? 'missed' : 'undecided',
    wall,
    cpu,
  }
}

const three = x => (Number.isFinite(x) ? x.toFixed(3) : '–')
const shown = ({ ratio, low, high }) => `${three(ratio)} (${three(low)} to ${three(high)})`

function table(result) {
  const head = ['feed', 'level', 'pairs', 'wanted', 'speed, wall clock', 'speed, CPU', 'judged by', 'verdict']
  const rows = result.measures.map(one => [
    one.name,
    one.level,
    one.wall.pairs,
    one.bar,
    shown(one.wall),
    shown(one.cpu),
    one.judge,
    one.verdict,
  ])
  const lines = [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
  const { date, machine, versions, command } = result
  return [
    '# What levels of spans cost',
    '',
    `${date.slice(0, 10)}, ${machine}, Node ${versions.node}, page cache warm. \`${command}\``,
    '',
    'Speed with a level / speed with MILLRACE_SPANS=0, with its 95 % interval (Hodges and Lehmann, Wilcoxon), in interleaved pairs.',
    '',
    ...lines,
    '',
  ].join('\n')
}

async function measure({ only, levels, seconds, pairs, minutes }, folder) {
  const workers = availableParallelism()
  const feeds = feedsOf({
    source: only.includes('pictures') ? await pictures(4096, workers) : undefined,
    workers,
  })
  const copy = name => {
    const to = join(folder, name)
    for (const part of ['dist', 'package.json']) cpSync(join(root, part), join(to, part), { recursive: true })
    return to
  }
  // A build of its own for both sides of each level: its workers then serve as many feeds as those of the other side.
  const built = Object.fromEntries(
    levels.map(level => [level, { before: copy(`without-${level}`), after: copy(level) }]),
  )
  const going = only.flatMap(name =>
    levels.map(level => {
      const turns = new LevelTurns(built[level], { name, ...feeds[name] }, seconds)
      return { name, level, pairs: [], turns: Object.assign(turns, { level }) }
    }),
  )
  const begun = performance.now()
  const spent = () => (performance.now() - begun) / 60_000
  let stopped = false
  process.once('SIGINT', () => (stopped = true))
  try {
    for (const one of going) await one.turns.next() // not counted
    let left = going
    for (let n = 0; n < pairs && left.length > 0; n++) {
      for (const one of left) {
        if (stopped || spent() > minutes) return going
        one.pairs.push(await one.turns.next())
        const found = judge(one)
        say(
          `${one.name} ${one.level} ${n + 1}: ${shown(found[found.judge])} by ${found.judge}, ${spent().toFixed(1)} min`,
        )
      }
      if (n % 2 && n + 1 >= FIRST_LOOK)
        left = left.filter(one => halfWidth(judge(one)[judge(one).judge]) > WIDTH)
    }
  } finally {
    for (const { turns } of going) await turns.close()
  }
  return going
}

async function main() {
  const plan = told()
  // Below the checkout, so that the copies find node_modules.
  const folder = mkdtempSync(join(root, '.bench-spans-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const measured = (await measure(plan, folder)).filter(one => one.pairs.length > 1)
  const { only, levels, seconds, pairs, minutes } = plan
  const result = {
    ...stamp(),
    command: `node bench/spans.mjs --only ${only} --levels ${levels} --seconds ${seconds} --pairs ${pairs} --minutes ${minutes}`,
    what: 'speed with a level of spans / speed with MILLRACE_SPANS=0, in interleaved pairs of turns in one process',
    measures: measured.map(judge),
    pairs: measured.map(({ name, level, pairs: taken }) => ({ name, level, pairs: taken })),
  }
  keep('spans', result)
  if (process.argv.includes('--save')) writeFileSync(join(root, 'bench/results/spans.md'), table(result))
  say(table(result))
  process.exitCode = result.measures.length > 0 && result.measures.every(one => one.verdict === 'met') ? 0 : 1
}

try {
  await main()
} catch (error) {
  say(`spans: ${error.message}`)
  process.exitCode = 2
}
