// What this machine can do, so that faults are as strong as they should be: CPU of a sample of each feed, rounds of work in a
// millisecond, a collection of garbage; and the latency that makes a batch so many steps long.
import { join } from 'node:path'
import { roundsPerMs } from './functions.mjs'
import { rateOf } from './run.mjs'
import { writeCase } from './write-case.mjs'

const FEEDS = ['rows', 'npy', 'small', 'files', 'jpeg', 'mixed', 'wide']

/** Rates without a step, one maker. */
export async function calibrate(folder, data, cores) {
  const cost = {}
  const run = async (name, setting) => {
    const full = { batch: 32, workers: 1, depth: 4, stepMs: 0, cores, ...setting }
    return rateOf(writeCase(join(folder, `calibrate-${name}`), data, full), full, 0.8)
  }
  for (const feed of FEEDS) {
    const batch = feed === 'wide' ? 8 : 32
    cost[feed] = (await run(feed, { feed, batch })).cpuMsPerSample
  }
  const without = await run('collect', { feed: 'rows', fn: {} })
  const collecting = await run('collect', { feed: 'rows', fn: { gcEvery: 16 } })
  // On a busy machine the clock says too much, and with helpers of the collector the CPU does.
  const gcMs =
    16 *
    Math.min(1000 / collecting.rate - 1000 / without.rate, collecting.cpuMsPerSample - without.cpuMsPerSample)
  return { cost, gcMs, roundsPerMs: roundsPerMs() }
}

/** The latency with which making a batch takes s steps, found by trying one. */
export async function latencyFor(folder, data, setting, s) {
  const tried = 8
  const slow = {
    ...setting,
    store: { ...setting.store, latencyMs: tried },
    stepMs: 0,
    stepRounds: undefined,
    fromStart: false,
  }
  const { stepMs } = await rateOf(writeCase(folder, data, slow), slow, 1)
  return Math.max(1, Math.round((tried * setting.stepMs * s) / stepMs))
}
