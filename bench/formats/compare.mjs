// Formats beside the loaders that people use for them in Python: the same volumes, texts, lists and pictures in each format, two workers.
// A round has each case once: Millrace, Millrace without libraries of the system, then each rival; every turn is a process of its own.
//
//   node bench/formats/compare.mjs [--save] [--rounds 5] [--seconds 2] [--python python3] [--only npy,Zarr]
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pictures } from '../data.mjs'
import { keep, median, root, stamp } from '../support.mjs'
import { cases } from './cases.mjs'
import { plot, table } from './report.mjs'

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const rounds = Number(option('rounds', 5))
const seconds = option('seconds', '2')
const only = option('only', '').split(',')
const PICTURES = 2048

const { tar: shards } = await pictures(PICTURES, 2)
const folder = join(tmpdir(), 'millrace-bench-formats')
const python = (script, ...args) =>
  execFileSync(option('python', 'python3'), [join(root, 'bench/formats', script), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

if (!existsSync(folder)) {
  const tars = readdirSync(dirname(shards)).filter(name => name.endsWith('.tar'))
  mkdirSync(`${folder}.part`)
  python('make.py', `${folder}.part`, ...tars.map(name => join(dirname(shards), name)))
  renameSync(`${folder}.part`, folder)
}

const compared = Object.entries(cases(folder, shards)).filter(([name]) =>
  only.some(part => name.includes(part)),
)
const versions = {}

/** Units a second, and units a second of CPU time. */
function turn(run) {
  const said = JSON.parse(run())
  Object.assign(versions, said.versions)
  return { rate: said.units / said.seconds, perCpu: said.units / said.cpu }
}

const millrace = (name, codecs) => () =>
  execFileSync(
    process.execPath,
    [join(root, 'bench/formats/feed.mjs'), folder, shards, name, seconds],
    // What a turn says on stderr is of interest only where it fails.
    { env: { ...process.env, MILLRACE_CODECS: codecs }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  )

const turns = {}
const failures = {}
for (let round = 0; round < rounds; round++) {
  for (const [name, { rivals }] of compared) {
    const contenders = { Millrace: millrace(name, ''), 'without libraries': millrace(name, 'node') }
    for (const rival of Object.keys(rivals)) {
      if (rival in cases('', '')) continue // another case, measured there
      contenders[rival] = () => python('rivals.py', folder, rival, name, seconds)
    }
    for (const [contender, run] of Object.entries(contenders)) {
      try {
        const found = turn(run)
        turns[name] ??= {}
        turns[name][contender] ??= []
        turns[name][contender].push(found)
        process.stderr.write(`${round + 1}/${rounds} ${name}, ${contender}: ${found.rate.toFixed(0)}\n`)
      } catch (error) {
        failures[`${name}, ${contender}`] = String(error.stderr ?? error)
          .trim()
          .split('\n')
          .slice(-3)
          .join(' ')
        process.stderr.write(
          `${round + 1}/${rounds} ${name}, ${contender} FAILED: ${error.stderr ?? error}\n`,
        )
      }
    }
  }
}

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

/** Each case with its rivals: how many times as fast, by the clock and by CPU time, and whether that reaches the bar. */
const results = compared
  .filter(([name]) => figures[name]?.Millrace !== undefined)
  .map(([name, { unit, rivals }]) => {
    const own = figures[name].Millrace
    const against = Object.entries(rivals).flatMap(([rival, bar]) => {
      const other = figures[name][rival] ?? figures[rival]?.Millrace
      if (other === undefined) return []
      const ratio = own.rate / other.rate
      return [
        {
          rival,
          bar,
          ratio,
          ratioOfCpu: own.perCpu / other.perCpu,
          reached: bar === undefined ? undefined : ratio >= bar,
        },
      ]
    })
    return { case: name, unit, against, figures: figures[name] }
  })

const { versions: ours, ...about } = stamp()
const result = {
  ...about,
  versions: { ...ours, ...versions },
  command: `node bench/formats/compare.mjs --save --rounds ${rounds} --seconds ${seconds}`,
  what: 'two workers, page cache warm, medians of interleaved rounds, each turn a process of its own, from the second batch on',
  results,
  failures,
}
keep('formats', result)
if (process.argv.includes('--save')) {
  writeFileSync(join(root, 'bench/results/formats.md'), table(result))
  writeFileSync(join(root, 'bench/results/formats.svg'), plot(result))
}
