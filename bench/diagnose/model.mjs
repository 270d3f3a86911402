// The model beside real runs: measures a feed, predicts what other workers, depth or steps bring, sets them, and measures again.
//
//   node bench/diagnose/model.mjs [--seconds S] [--only NAME]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { open } from '../../build/all/index.js'
import { monotonicMs } from '../../build/core/spans/clock.js'
import { SpanFile } from '../../build/core/spans/file.js'
import { account } from '../../build/observe/account/account.js'
import { collect } from '../../build/observe/account/collect.js'
import { spansOfLoader } from '../../build/observe/account/source.js'
import { HostSampler } from '../../build/observe/host/sampler.js'
import { fitModel } from '../../build/observe/model/fit.js'
import { predict } from '../../build/observe/model/predict.js'
import { replay } from '../../build/observe/model/replay.js'
import { judge } from '../../build/observe/verdict/judge.js'
import { sentence } from '../../build/observe/verdict/words.js'
import { writeCase } from './write-case.mjs'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '2.5' }, only: { type: 'string' } },
})
const seconds = Number(values.seconds)
/** Settling after a change (ms). */
const SETTLE = 600

/** Feeds without files, costs of a sample, a step (ms), and what is changed. */
const CASES = {
  'spin, 1 → 2 workers': [{ fn: { rounds: 2000 } }, { workers: 1, depth: 4, stepMs: 8 }, { workers: 2 }],
  'spin, 2 → 1 workers': [{ fn: { rounds: 2000 } }, { workers: 2, depth: 4, stepMs: 8 }, { workers: 1 }],
  'spin, 2 → 4 workers': [{ fn: { rounds: 2000 } }, { workers: 2, depth: 4, stepMs: 8 }, { workers: 4 }],
  'sleep, 1 → 3 workers': [{ fn: { sleepMs: 1 } }, { workers: 1, depth: 4, stepMs: 10 }, { workers: 3 }],
  'sleep, 2 → 8 workers': [{ fn: { sleepMs: 2 } }, { workers: 2, depth: 4, stepMs: 10 }, { workers: 8 }],
  'sleep, 4 → 2 workers': [{ fn: { sleepMs: 1 } }, { workers: 4, depth: 4, stepMs: 2 }, { workers: 2 }],
  'sleep, depth 1 → 2': [{ fn: { sleepMs: 1 } }, { workers: 2, depth: 1, stepMs: 15 }, { depth: 2 }],
  'spin, step 20 → 4': [{ fn: { rounds: 1000 } }, { workers: 1, depth: 4, stepMs: 20 }, { stepMs: 4 }],
}

const never = new Int32Array(new SharedArrayBuffer(4))
const folder = mkdtempSync(join(tmpdir(), 'model-'))
try {
  for (const [name, given] of Object.entries(CASES))
    if (values.only === undefined || name.includes(values.only)) await tryCase(name, ...given)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function tryCase(name, { fn }, setting, change) {
  const at = join(folder, name.replace(/\W+/g, '-'))
  const written = writeCase(at, folder, { feed: 'rows', batch: 32, ...setting, fn })
  const { default: feed } = await import(written.feed)
  const { workers, depth } = setting
  const loader = open(feed, { workers, depth, epochs: null, notice: () => {} })
  const loop = loader[Symbol.asyncIterator]()
  let stepMs = setting.stepMs
  const run = async ms => {
    for (const until = performance.now() + ms; performance.now() < until; ) {
      await loop.next()
      Atomics.wait(never, 0, 0, stepMs)
    }
  }
  const measure = async () => {
    await run(SETTLE)
    // On a busy machine threads begin late.
    for (let i = 0; i < 20 && (await makersAtWork()) < loader.stats().workers; i++) await run(SETTLE)
    const host = new HostSampler()
    const looked = host.look()
    const from = monotonicMs()
    await run(1000 * seconds)
    const to = monotonicMs()
    const signals = host.between(looked, host.look())
    host.close()
    await new Promise(resolve => setTimeout(resolve, 50))
    const { reader } = SpanFile.shared()
    const ring = reader.rings().findLast(one => one.open)
    return collect(spansOfLoader(reader, ring.ring), { from, to, host: signals })
  }
  async function makersAtWork() {
    const { reader } = SpanFile.shared()
    const since = monotonicMs() - SETTLE
    const made = reader
      .readSince()
      .records.filter(({ start, lane }) => lane.kind === 'worker' && start > since)
    return new Set(made.filter(({ rows }) => rows > 0).map(({ lane }) => lane.lane)).size
  }
  const e = await measure()
  const a = account(e)
  stepMs = change.stepMs ?? stepMs
  if (change.workers ?? change.depth) await loader.tune({ workers: change.workers, depth: change.depth })
  const after = await measure()
  await loop.return()
  await loader.close()
  const truth = account(after).stepMs
  // Others' use of the cores is known in both windows. Where they take all that is left, they give way to more makers.
  const f = fitModel(e, a)
  const left = f.cores.value + e.host.otherCores - after.host.otherCores
  const known = { ...change, ...(f.crowd === 0 && { cores: Math.max(0.1, left) }) }
  const off = ms => `${(100 * (ms / truth - 1)).toFixed(0)} %`.padStart(6)
  const formula = predict(f, known)
  const gain = a.stepMs / truth - 1
  const inside = formula.interval[0] <= gain && gain <= formula.interval[1]
  process.stdout.write(
    `${name.padEnd(22)} ${a.stepMs.toFixed(1)} → ${truth.toFixed(1)} ms; formula off by ${off(formula.stepMs)}${inside ? '' : ' (!)'}, replay ${off(replay(e, known, a).stepMs)}; others ${e.host.otherCores.toFixed(1)}, ${after.host.otherCores.toFixed(1)} cores\n` +
      `  c ${f.cpu.value.toFixed(3)} b ${f.blocked.value.toFixed(3)} g ${f.step.value.toFixed(2)} h ${f.consumer.value.toFixed(2)} P ${f.cores.value.toFixed(2)} claims ${f.claims} ${JSON.stringify(Object.fromEntries(Object.entries(a.parts).map(([k, v]) => [k, Number(v.toFixed(3))])))}\n  ${sentence(judge(e))}\n`,
  )
}
