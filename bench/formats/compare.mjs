// Formats beside the loaders that people use for them in Python: the same volumes, texts, lists and pictures in each format, two workers.
// A round has each case once: Millrace, Millrace without libraries of the system, then each rival; each opens its data anew.
//
//   node bench/formats/compare.mjs [--save] [--rounds 5] [--seconds 2] [--python python3] [--only npy,Zarr]
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { pictures } from '../data.mjs'
import { keep, median, root, stamp } from '../support.mjs'
import { cases } from './cases.mjs'
import { plot, table } from './report.mjs'

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const rounds = Number(option('rounds', 5))
const seconds = Number(option('seconds', 2))
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

const everything = cases(folder, shards)
const compared = Object.entries(everything).filter(([name]) => only.some(part => name.includes(part)))
const versions = {}

/** A program that answers a line for each line, and is started again after it failed. Starting it is no part of a turn. */
class Helper {
  constructor(command, args, env) {
    this.start = () => {
      this.child = spawn(command, args, {
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      this.child.stdin.on('error', () => {}) // it ended: the answer is missing, which is said
      this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]()
    }
  }

  async ask(question) {
    if (this.child === undefined) this.start()
    this.child.stdin.write(`${JSON.stringify(question)}\n`)
    const limit = setTimeout(() => this.child.kill('SIGKILL'), LIMIT)
    const { value } = await this.lines.next()
    clearTimeout(limit)
    const answer = value === undefined ? { failed: 'it ended, or took too long' } : JSON.parse(value)
    if (answer.failed === undefined) return answer
    this.end()
    throw new Error(answer.failed)
  }

  end() {
    this.child?.kill('SIGKILL')
    this.child = undefined
  }
}
/** A turn that takes longer has failed (ms). */
const LIMIT = 120_000

const feeds = [process.execPath, [join(root, 'bench/formats/feed.mjs'), folder, shards]]
const helpers = {
  Millrace: new Helper(...feeds, { MILLRACE_CODECS: '' }),
  'without libraries': new Helper(...feeds, { MILLRACE_CODECS: 'node' }),
  rivals: new Helper(option('python', 'python3'), [join(root, 'bench/formats/rivals.py'), folder], {}),
}

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
for (let round = 0; round < rounds; round++) {
  for (const [name, { rivals }] of compared) {
    if (ended) break
    // A rival that is another case is measured there.
    const others = Object.keys(rivals).filter(rival => !(rival in everything))
    for (const contender of ['Millrace', 'without libraries', ...others]) {
      try {
        const found = await turn(name, contender)
        turns[name] ??= {}
        turns[name][contender] ??= []
        turns[name][contender].push(found)
        process.stderr.write(`${round + 1}/${rounds} ${name}, ${contender}: ${found.rate.toFixed(0)}\n`)
      } catch (error) {
        // Ctrl-C reaches the helpers too.
        if (ended) break
        failures[`${name}, ${contender}`] = error.message
        process.stderr.write(`${round + 1}/${rounds} ${name}, ${contender} failed: ${error.message}\n`)
      }
    }
  }
}
for (const helper of Object.values(helpers)) helper.end()
report()

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
    what: 'two workers, page cache warm, medians of interleaved rounds, each opening its data anew, counted from the first batches on',
    results,
    failures,
  }
  keep('formats', result)
  if (process.argv.includes('--save')) {
    writeFileSync(join(root, 'bench/results/formats.md'), table(result))
    writeFileSync(join(root, 'bench/results/formats.svg'), plot(result))
  }
}
