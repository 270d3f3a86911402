// Two checkouts of Millrace in interleaved pairs: is the one after a change slower than the one before it?
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { manySamples, pictures, rawPictures } from './data.mjs'
import { compare, halfWidth, judged } from './pairs/interval.mjs'
import { line, table } from './pairs/table.mjs'
import { measuresOf, Turns } from './pairs/turns.mjs'
import { median, root, stamp } from './support.mjs'

const HELP = `Compares two built checkouts of Millrace, before and after a change, in interleaved pairs.

  node bench/pairs.mjs --before DIR --after DIR [options]

  --only LIST    parts, of throughput,overhead,raw,ready,flat (all)
  --seconds N    seconds of a turn (0.4)
  --pairs N      at most so many pairs of each part (100)
  --minutes N    start no further pair after so many minutes (25)
  --out FOLDER   where pairs.json and pairs.md are written (bench/results)

In throughput, overhead and raw both builds run in this process and take turns. In ready and flat a turn is a process of its own.
A part ends when the 95 % interval of each of its ratios is ±1.5 % wide. A ratio is the speed after divided by the speed
before, so more than 1 is faster. "Not slower" means that the interval's lower end is at least 0.97. Where the wall clock
differs by more than 3 % from pair to pair, CPU time judges. For flat: resident memory grows by at most 0.5 MB in 1,000
steps after the change. Ctrl-C ends it early and keeps what was measured. Exit status 0: all passed; 1: not; 2: it could
not measure.

Example, from the checkout with the change, both built:

  git worktree add ../before HEAD~1 && (cd ../before && npm ci && npm run build)
  node bench/pairs.mjs --before ../before --after .
`
const WIDTH = 0.015
const LIMIT = 0.97
/** Not fewer pairs than this, so that a width that is small by chance doesn't end a part. */
const FIRST_LOOK = 10
/** Measures of a part. */
const MEASURES = { throughput: 2, overhead: 4, raw: 2 }
const FLAT_STEPS = 2000
const FLAT_ROUNDS = 3
const FLAT_LIMIT = 0.5
const PARTS = ['throughput', 'overhead', 'raw', 'ready', 'flat']
/** Seconds that a pair of `ready` takes, about, on two cores. */
const READY = 1.2

function told() {
  const { values } = parseArgs({
    options: {
      before: { type: 'string' },
      after: { type: 'string' },
      only: { type: 'string', default: PARTS.join() },
      seconds: { type: 'string', default: '0.4' },
      pairs: { type: 'string', default: '100' },
      minutes: { type: 'string', default: '25' },
      out: { type: 'string', default: join(root, 'bench/results') },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const only = values.only.split(',')
  const odd = only.find(part => !PARTS.includes(part))
  if (odd !== undefined) throw new Error(`--only ${odd}: the parts are ${PARTS.join(', ')}`)
  for (const side of ['before', 'after']) {
    if (values[side] === undefined) throw new Error(`--${side} is missing: the folder of a built checkout`)
    if (!existsSync(join(values[side], 'dist/index.js')))
      throw new Error(`--${side} ${values[side]} has no dist/index.js: run npm run build there`)
  }
  for (const name of ['seconds', 'pairs', 'minutes'])
    if (!(Number(values[name]) > 0)) throw new Error(`--${name} ${values[name]} is no positive number`)
  const { before, after, out } = values
  const [seconds, pairs, minutes] = [values.seconds, values.pairs, values.minutes].map(Number)
  return { sides: { before, after }, only, seconds, pairs, minutes, out }
}

/** The commit of a checkout, with a plus where tracked files differ from it. */
function commitOf(folder) {
  const git = (...args) => execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    if (resolve(git('rev-parse', '--show-toplevel')) !== resolve(folder)) return 'no commit'
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '-uno') ? '+' : '')
  } catch {
    return 'no commit'
  }
}

const say = text => process.stderr.write(`${text}\n`)
const minutesOf = seconds => (seconds / 60).toFixed(1)

/** Runs one round of a side, and gives what it printed. */
function round(folder, part, options) {
  const script = join(root, 'bench/pairs/side.mjs')
  const args = ['--expose-gc', script, resolve(folder), part, JSON.stringify(options)]
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let printed = ''
    child.stdout.on('data', text => (printed += text))
    child.once('error', failed)
    child.once('close', (status, signal) => {
      if (status === 0) done(JSON.parse(printed))
      else failed(new Error(`a round of ${part} ended with ${signal ?? `status ${status}`}`))
    })
  })
}

let stopped = false
process.once('SIGINT', () => (stopped = true))

/** One pair of each measure of a part whose builds take turns in this process. */
async function pairOfTurns(turns) {
  const got = { before: {}, after: {} }
  for (const one of turns) {
    const { before, after } = await one.next()
    got.before[one.name] = before
    got.after[one.name] = after
  }
  return got
}

/** One pair of processes; which side goes first alternates. */
async function pair(part, number, sides, options) {
  const got = {}
  for (const side of number % 2 ? ['after', 'before'] : ['before', 'after'])
    got[side] = await round(sides[side], part, options)
  return got
}

/** What the pairs of a part say of each of its measures: speeds after/before by the wall clock and by CPU time. */
function measures(pairs) {
  const names = Object.keys(pairs[0].before).filter(name => pairs[0].before[name].wall !== undefined)
  return names.map(name => {
    const by = clock => {
      const values = side => pairs.map(got => got[side][name][clock])
      const result = compare(pairs.map(({ before, after }) => before[name][clock] / after[name][clock]))
      return { ...result, beforeMs: median(values('before')), afterMs: median(values('after')) }
    }
    const [wall, cpu] = [by('wall'), by('cpu')]
    const judge = judged(wall, cpu)
    const { low, high } = judge === 'wall' ? wall : cpu
    const verdict = low >= LIMIT ? 'not slower' : high < 1 ? 'slower' : 'undecided'
    return { name, judge, verdict, wall, cpu }
  })
}

const wideEnough = found => found.every(one => halfWidth(one[one.judge]) <= WIDTH)

/** Takes pairs of the parts in turn, so that each has its share of a quiet hour, until all have ended. */
async function takePairs({ sides, only, seconds, pairs, minutes }, sources) {
  const options = { sources, workers: availableParallelism() }
  const going = only
    .filter(part => part !== 'flat')
    .map(part => {
      const measures = measuresOf[part]?.({ ...sources, workers: options.workers }) ?? []
      return { part, pairs: [], turns: measures.map(one => new Turns(sides, one, seconds)) }
    })
  const flat = only.includes('flat') ? { before: [], after: [] } : undefined
  const begun = performance.now()
  const spent = () => (performance.now() - begun) / 1000
  const next = ({ part, turns }, n) => (turns.length > 0 ? pairOfTurns(turns) : pair(part, n, sides, options))
  try {
    for (const one of going) {
      say(`${one.part}: one pair that is not counted`)
      await next(one, 0)
    }
    for (let i = 0; flat && i < FLAT_ROUNDS && !stopped; i++) {
      const got = await pair('flat', i, sides, { ...options, steps: FLAT_STEPS })
      for (const side of ['before', 'after']) flat[side].push(got[side])
      const [b, a] = [got.before, got.after].map(one => one.slopeMBPer1000Steps.toFixed(2))
      say(
        `flat ${i + 1}/${FLAT_ROUNDS}: before ${b}, after ${a} MB in 1,000 steps, ${minutesOf(spent())} min`,
      )
    }
    let left = [...going]
    for (let n = 0; n < pairs && left.length > 0; n++) {
      for (const one of left) {
        if (stopped || spent() > minutes * 60) return { going, flat }
        one.pairs.push(await next(one, n))
        const found = measures(one.pairs)
        say(`${one.part} ${n + 1}: ${found.map(line).join('; ')}, ${minutesOf(spent())} min`)
      }
      // Looked at after an even number of pairs, in which each side went first equally often.
      if (n % 2 && n + 1 >= FIRST_LOOK) left = left.filter(one => !wideEnough(measures(one.pairs)))
    }
  } catch (error) {
    // Ctrl-C reaches the round too. What came before it is kept.
    if (!stopped) throw error
  } finally {
    for (const one of going) for (const turns of one.turns) await turns.close()
  }
  return { going, flat }
}

function flatResult({ before, after }) {
  const slopes = rounds => rounds.map(one => one.slopeMBPer1000Steps)
  const [b, a] = [slopes(before), slopes(after)]
  const verdict = median(a) <= FLAT_LIMIT ? 'flat' : 'grows'
  return { steps: FLAT_STEPS, limit: FLAT_LIMIT, before: b, after: a, verdict, rounds: { before, after } }
}

async function main() {
  const plan = told()
  const each = part => (part === 'ready' ? READY : 2.5 * plan.seconds * MEASURES[part])
  const timed = plan.only.filter(part => part !== 'flat')
  const pairSeconds = timed.reduce((sum, part) => sum + each(part), 0)
  const flatSeconds = plan.only.includes('flat') ? FLAT_ROUNDS * 2 * 25 : 0
  const [least, most] = [Math.min(FIRST_LOOK, plan.pairs), plan.pairs].map(n =>
    minutesOf(flatSeconds + pairSeconds * (n + 1)),
  )
  for (const part of timed) say(`${part}: about ${each(part).toFixed(0)} s a pair`)
  if (flatSeconds) say(`flat: about ${flatSeconds} s`)
  say(`expected: ${least} to ${most} minutes; no pair starts after ${plan.minutes}`)

  const sources = {
    pictures: await pictures(4096, availableParallelism()),
    raw: plan.only.includes('raw') ? rawPictures() : undefined,
    many: plan.only.includes('ready') ? manySamples() : undefined,
  }
  const { going, flat } = await takePairs(plan, sources)

  const name = folder => (resolve(folder) === resolve(root) ? '.' : `../${basename(resolve(folder))}`)
  const { before, after } = plan.sides
  const { commit, ...about } = stamp()
  const result = {
    ...about,
    commits: { tool: commit, before: commitOf(before), after: commitOf(after) },
    command: `node bench/pairs.mjs --before ${name(before)} --after ${name(after)} --only ${plan.only} --seconds ${plan.seconds} --pairs ${plan.pairs} --minutes ${plan.minutes}`,
    what: 'speed after / speed before, in interleaved pairs of turns: of 0.4 s in one process, or a process each (ready, flat); 95 % interval of the median of averages of two pairs (Hodges-Lehmann, Wilcoxon), of logarithms',
    cache: 'page cache warm',
    wanted: { halfWidth: WIDTH, low: LIMIT },
    parts: going
      .filter(one => one.pairs.length > 1)
      .map(one => ({ part: one.part, measures: measures(one.pairs), pairs: one.pairs })),
    flat: flat?.after.length ? flatResult(flat) : undefined,
  }
  const markdown = table(result)
  mkdirSync(plan.out, { recursive: true })
  writeFileSync(join(plan.out, 'pairs.json'), `${JSON.stringify(result, null, 1)}\n`)
  writeFileSync(join(plan.out, 'pairs.md'), markdown)
  console.log(markdown)
  const verdicts = result.parts.flatMap(part => part.measures.map(one => one.verdict))
  const complete = result.parts.length === timed.length && (result.flat !== undefined || !flat)
  process.exitCode =
    complete && verdicts.every(v => v === 'not slower') && result.flat?.verdict !== 'grows' ? 0 : 1
}

try {
  await main()
} catch (error) {
  say(`pairs: ${error.message}`)
  process.exitCode = 2
}
