// What each level of spans costs: speed with counters, spans and full, divided by that without any, in interleaved turns.
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pictures } from './data.mjs'
import { memoryFeed, pictureFeed } from './loops.mjs'
import { halfWidth, LEAST } from './pairs/interval.mjs'
import { round } from './spans/round.mjs'
import { BARS, judge, OFF, shown, table } from './spans/table.mjs'
import { keep, root, stamp } from './support.mjs'

const HELP = `Measures what the levels of spans cost, against MILLRACE_SPANS=0.

  node bench/spans.mjs [options]

  --only LIST    feeds, of rows,pictures (both): rows of 4 kB from memory; JPEGs of 224²
  --levels LIST  of counters,spans,full (all)
  --seconds N    seconds of a turn (0.2)
  --pairs N      at most so many rounds of each feed (40)
  --minutes N    end after so many minutes; a round that is not over then does not count (5)
  --save         write bench/results/spans.json and spans.md

A round is a fresh process, in which all levels, and two sides without spans, take 6 short turns each on the same worker threads, in
changing order, after 2 that don't count; each turn opens the feed anew. A ratio is the speed with a level divided by that without: less than 1 is slower. Wanted: counters 0.99, spans 0.98, full
0.95. "Met" means that the lower end of the 95 % interval is at least that, "missed" that the upper end is below. "Off against off"
compares the two sides without spans: its interval must hold 1, and is as wide as what can be told apart here. It ends when all
intervals are ±0.5 % wide. V8 collects garbage without helping threads, whose CPU time is chance. Where the wall clock differs by more than 3 % from round to round, CPU time judges. It needs only dist/ and
node_modules/: no network. Ctrl-C or SIGTERM: it shows what it has. Exit status 0: all met; 1: not; 2: it could not measure.

Example:  npm run build && node bench/spans.mjs --save
`
const LEVELS = Object.keys(BARS).filter(level => level !== 'control')
const FEEDS = ['rows', 'pictures']
const WIDTH = 0.005
const TURNS = 6

const say = text => process.stderr.write(`${text}\n`)

function told() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: FEEDS.join() },
      levels: { type: 'string', default: LEVELS.join() },
      seconds: { type: 'string', default: '0.2' },
      pairs: { type: 'string', default: '40' },
      minutes: { type: 'string', default: '5' },
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
  return { only: list('only', FEEDS), levels: list('levels', LEVELS), seconds, pairs, minutes }
}

async function feedsOf(only) {
  const workers = availableParallelism()
  const source = only.includes('pictures') ? await pictures(4096, workers) : undefined
  const feeds = {
    rows: { feed: memoryFeed(256), open: { workers: 1, depth: 8 }, counted: 256 },
    pictures: { feed: source && pictureFeed(source, 'u8', 64), open: { workers, depth: 4 }, counted: 64 },
  }
  return only.map(name => ({ name, ...feeds[name], rounds: [] }))
}

const measuresOf = ({ name, rounds }, levels) =>
  ['control', ...levels].map(level => judge({ name, level, rounds }))

async function measure({ only, levels, seconds, pairs, minutes }) {
  const begun = performance.now()
  const spent = () => (performance.now() - begun) / 60_000
  let stopped = false
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (stopped = true))
  const over = () => stopped || spent() > minutes
  const feeds = await feedsOf(only)
  const sides = Object.fromEntries([...OFF.map(name => [name, '0']), ...levels.map(level => [level, level])])
  const narrow = feed =>
    feed.rounds.length >= LEAST && measuresOf(feed, levels).every(one => halfWidth(one[one.judge]) <= WIDTH)
  for (let number = 0; number < pairs; number++) {
    for (const feed of feeds.filter(one => !narrow(one))) {
      const got = await round(feed, sides, { number, turns: TURNS, seconds, over })
      if (got === undefined) return feeds
      feed.rounds.push(got)
      const line = measuresOf(feed, levels).map(one => `${one.level} ${shown(one.cpu)}`)
      say(`${feed.name} ${number + 1}, ${spent().toFixed(1)} min, by CPU: ${line.join(', ')}`)
    }
  }
  return feeds
}

async function main() {
  const plan = told()
  const measured = (await measure(plan)).filter(({ rounds }) => rounds.length > 1)
  const { only, levels, seconds, pairs, minutes } = plan
  const result = {
    ...stamp(),
    command: `node bench/spans.mjs --only ${only} --levels ${levels} --seconds ${seconds} --pairs ${pairs} --minutes ${minutes}`,
    what: 'speed with a level of spans / speed with MILLRACE_SPANS=0, in interleaved turns within each process',
    measures: measured.flatMap(feed => measuresOf(feed, levels)),
    rounds: measured.map(({ name, rounds }) => ({ name, rounds })),
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
