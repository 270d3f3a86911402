// The exam of `millrace diagnose`: plants faults, measures what removing each gains, and scores verdicts and advice (README.md).
//
//   node bench/diagnose/exam.mjs [--seed N] [--cases N] [--only KINDS or case-NNN] [--cores LIST] [--lanes N] [--seconds S] [--turns N]
//     [--truth] [--records FOLDER] [--out FOLDER] [--save]
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root, stamp } from '../support.mjs'
import { calibrate } from './calibrate.mjs'
import { runCase } from './case.mjs'
import { allowedCores, listOf } from './cores.mjs'
import { makeData } from './data.mjs'
import { drawCases } from './draw.mjs'
import { summary } from './score.mjs'
import { cellsOf, report } from './table.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '18' },
    cases: { type: 'string', default: '48' },
    only: { type: 'string' },
    cores: { type: 'string' },
    lanes: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '2' },
    turns: { type: 'string', default: '3' },
    truth: { type: 'boolean', default: false },
    records: { type: 'string' },
    out: { type: 'string' },
    save: { type: 'boolean', default: false },
  },
})
const about = stamp()
const seed = Number(values.seed)
const cores = values.cores === undefined ? allowedCores() : listOf(values.cores)
const lanes = Number(values.lanes)
const each = Math.floor(cores.length / lanes)
if (each < 2)
  throw new Error(`${lanes} lanes of at least 2 cores need more than the ${cores.length} there are`)

const work = join(tmpdir(), `millrace-exam-${process.pid}`)
const records = values.records ?? join(work, 'records')
mkdirSync(records, { recursive: true })
const data = join(tmpdir(), 'millrace-exam-data')
process.on('exit', () => rmSync(work, { recursive: true, force: true }))

await makeData(data)
const only = values.only?.split(',')
const cases = drawCases(seed, Number(values.cases)).filter(
  one => only === undefined || only.includes(one.kind) || only.includes(one.name) || only.includes(one.group),
)
process.stderr.write(`${cases.length} cases in ${lanes} lanes of ${each} cores; calibrating\n`)
const machine = await calibrate(join(work, 'calibrate'), data, cores.slice(0, each))
process.stderr.write(`${JSON.stringify(machine)}\n`)

const options = {
  seconds: Number(values.seconds),
  turns: Number(values.turns),
  truth: values.truth,
  records,
}
const queue = [...cases]
const results = []
await Promise.all(
  Array.from({ length: lanes }, async (_, i) => {
    const lane = {
      ...machine,
      data,
      cores: cores.slice(i * each, (i + 1) * each),
      folder: join(work, `lane-${i}`),
    }
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const begun = performance.now()
      const result = await runCase(one, lane, options).catch(error => ({
        ...one,
        failed: String(error?.stack ?? error),
      }))
      results.push({ ...result, seconds: (performance.now() - begun) / 1000 })
      process.stderr.write(`${cellsOf(result).join(' · ')} (${Math.round(results.at(-1).seconds)} s)\n`)
      keep()
    }
  }),
)
const result = keep()
console.log(report(result))

/** All that is known so far, where it is wanted. */
function keep() {
  const result = {
    ...about,
    command: `node bench/diagnose/exam.mjs ${process.argv.slice(2).join(' ')}`,
    seed,
    lanes,
    coresOfLane: each,
    calibrated: machine,
    summary: summary(results),
    results: results.sort((a, b) => a.name.localeCompare(b.name)),
  }
  const folder = values.out ?? (values.save ? join(root, 'bench/results') : undefined)
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'diagnose.json'), `${JSON.stringify(result, null, 1)}\n`)
    writeFileSync(join(folder, 'diagnose.md'), report(result))
  }
  return result
}
