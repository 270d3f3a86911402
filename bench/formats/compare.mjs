// Formats beside the loaders that people use for them in Python: the same volumes, texts, lists and pictures in each format, two workers.
// A round has each case once: Millrace, then each rival, and in every second round Millrace without libraries of the system; each opens its data
// anew. It ends before a round that would go beyond `--minutes`.
//
//   node bench/formats/compare.mjs [--save] [--rounds 5] [--seconds 1] [--minutes 15] [--python python3] [--only npy,Zarr]
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pictures } from '../data.mjs'
import { keep, median, root, stamp } from '../support.mjs'
import { cases } from './cases.mjs'
import { Helper } from './helper.mjs'
import { writeReport } from './report.mjs'

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const rounds = Number(option('rounds', 5))
const seconds = Number(option('seconds', 1))
const minutes = Number(option('minutes', 15))
const only = option('only', '').split(',')
const python = option('python', 'python3')
const PICTURES = 2048

const { tar: shards } = await pictures(PICTURES, 2)
const folder = join(tmpdir(), 'millrace-bench-formats')
const everything = cases(folder, shards)
const chosen = Object.keys(everything).filter(name => only.some(part => name.includes(part)))
// A rival that is another case is measured there.
const alsoCases = chosen
  .flatMap(name => Object.keys(everything[name].rivals))
  .filter(name => name in everything)
const compared = Object.entries(everything).filter(
  ([name]) => chosen.includes(name) || alsoCases.includes(name),
)
if (compared.length === 0)
  throw new Error(`--only ${only}: there is no such case, only ${Object.keys(everything).join('; ')}`)
for (const part of new Set(compared.map(([, { part }]) => part))) make(part)

/** Makes a part of the data, where it is not there. */
function make(part) {
  if (existsSync(join(folder, part))) return
  process.stderr.write(`making ${part} in ${folder}\n`)
  const draft = join(folder, `${part}.part`)
  mkdirSync(draft, { recursive: true })
  const tars = readdirSync(dirname(shards)).filter(name => name.endsWith('.tar'))
  const more = part === 'pictures' ? tars.map(name => join(dirname(shards), name)) : []
  execFileSync(python, [join(root, 'bench/formats/make.py'), part, draft, ...more], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  renameSync(draft, join(folder, part))
}

const WITHOUT = 'without libraries'
const feeds = [process.execPath, [join(root, 'bench/formats/feed.mjs'), folder, shards]]
const helpers = {
  Millrace: new Helper(...feeds, { MILLRACE_CODECS: '' }),
  [WITHOUT]: new Helper(...feeds, { MILLRACE_CODECS: 'node' }),
  rivals: new Helper(python, [join(root, 'bench/formats/rivals.py'), folder], {}),
}
const versions = {}

/** Units a second, and units a second of CPU time. */
async function turn(name, contender) {
  const helper = helpers[contender] ?? helpers.rivals
  const said = await helper.ask({ name, rival: contender, seconds })
  Object.assign(versions, said.versions)
  return { rate: said.units / said.seconds, perCpu: said.units / said.cpu }
}

const turns = {}
const failures = {}
// Ctrl-C ends it with what was measured so far.
let ended = false
process.once('SIGINT', () => (ended = true))
const begun = Date.now()
let longest = 0
let done = 0
for (; done < rounds && !ended; done++) {
  const roundBegun = Date.now()
  if (done > 0 && roundBegun + longest > begun + minutes * 60_000) break
  for (const [name, { rivals }] of compared) {
    const others = Object.keys(rivals).filter(rival => !(rival in everything))
    for (const contender of ['Millrace', ...(done % 2 === 0 ? [WITHOUT] : []), ...others]) {
      if (ended) break
      await measure(name, contender)
    }
  }
  longest = Math.max(longest, Date.now() - roundBegun)
}
for (const helper of Object.values(helpers)) helper.end()
report()

async function measure(name, contender) {
  const place = `${done + 1}/${rounds} ${name}, ${contender}`
  try {
    const found = await turn(name, contender)
    turns[name] ??= {}
    turns[name][contender] ??= []
    turns[name][contender].push(found)
    process.stderr.write(`${place}: ${found.rate.toFixed(0)}\n`)
  } catch (error) {
    // Ctrl-C reaches the helpers too.
    if (ended) return
    failures[`${name}, ${contender}`] = error.message
    process.stderr.write(`${place} failed: ${error.message}\n`)
  }
}

/** With `--only`, what was saved of other cases is kept. */
function report() {
  const figure = all => ({
    rate: median(all.map(({ rate }) => rate)),
    perCpu: median(all.map(({ perCpu }) => perCpu)),
    rates: all.map(({ rate }) => Math.round(rate)),
  })
  const figures = Object.fromEntries(
    Object.entries(turns).map(([name, by]) => [
      name,
      Object.fromEntries(Object.entries(by).map(([contender, all]) => [contender, figure(all)])),
    ]),
  )
  const { versions: ours, ...about } = stamp()
  const found = compared
    .filter(([name]) => figures[name]?.Millrace !== undefined)
    .map(([name, { unit, rivals }]) => {
      const against = Object.entries(rivals).flatMap(([rival, bar]) => comparison(figures, name, rival, bar))
      return { case: name, unit, date: about.date, against, figures: figures[name] }
    })
  const before = only[0] === '' ? { results: [], versions: {} } : saved()
  const results = Object.keys(everything).flatMap(name =>
    [...found, ...before.results].filter(result => result.case === name).slice(0, 1),
  )
  const result = {
    ...about,
    versions: { ...before.versions, ...ours, ...versions },
    command: `node bench/formats/compare.mjs --save --rounds ${rounds} --seconds ${seconds} (${done} rounds, ${Math.round((Date.now() - begun) / 60_000)} minutes)`,
    what: 'two workers, page cache warm, medians of interleaved rounds, each opening its data anew, counted from a second after the first batch on',
    results,
    failures,
  }
  keep('formats', result)
  if (process.argv.includes('--save')) writeReport(result)
}

/** How many times as fast as a rival, by the clock and by CPU time, and whether that reaches the bar. */
function comparison(figures, name, rival, bar) {
  const own = figures[name].Millrace
  const other = figures[name][rival] ?? figures[rival]?.Millrace
  if (other === undefined) return []
  const ratio = own.rate / other.rate
  const reached = bar === undefined ? undefined : ratio >= bar
  return [{ rival, bar, ratio, ratioOfCpu: own.perCpu / other.perCpu, reached }]
}

function saved() {
  const file = join(root, 'bench/results/formats.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { results: [], versions: {} }
}
