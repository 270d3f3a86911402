/** Run logs of real runs: in Node and Python, of several ranks, and after kill -9. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { engine, type FeedJson } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { programs } from '../../../../test/support/program.js'
import { withoutPython } from '../../../../test/support/python.js'
import { until } from '../../../../test/support/until.js'
import type { OpenOptions, Watched } from '../../../all/index.js'
import { findRun, sourceOfRun } from '../../../observe/diagnose/attach/find-run.js'
import { RunWatcher } from '../../../observe/live/watcher.js'
import { alignRanks, type LoggedRun, readRunLog } from '../../../observe/log/read.js'

const FEED: FeedJson = {
  source: { synthetic: { count: 1000, tensors: { shape: [64], dtype: 'f32' } } },
  fields: { data: { from: 'data', as: 'npy', shape: [64], dtype: 'f32' } },
  batch: { size: 10 },
}
const children: { kill(signal: NodeJS.Signals): unknown }[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

const lines = (folder: string): number => {
  try {
    const texts = readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'))
    return texts.length === 0 ? 0 : Math.min(...texts.map(text => text.split('\n').length))
  } catch {
    return 0
  }
}

/** Takes batches until something is so. */
async function feedUntil(options: OpenOptions, holds: () => boolean): Promise<number> {
  const loader = engine.open(FEED, { workers: 1, epochs: null, ...options })
  try {
    let steps = 0
    for await (const _ of loader) {
      steps++
      await sleep(5)
      if (holds()) break
    }
    return steps
  } finally {
    await loader.close()
  }
}

const records = ([run]: LoggedRun[]) => run.ranks.flatMap(rank => rank.records)

describe('in Node', () => {
  test('has a header, a record a second, and an end; all steps are in it', async () => {
    const folder = join(temporaryFolder(), 'logs')
    const steps = await feedUntil({ log: folder, rank: 1, world: 2 }, () => lines(folder) > 4)
    const runs = readRunLog(folder)
    expect(runs).toHaveLength(1)
    const [rank] = runs[0].ranks
    expect(rank.headers[0]).toMatchObject({
      version: 1,
      feed: 'synthetic',
      rank: 1,
      world: 2,
      trainer: process.pid,
      engine: process.pid,
      rows: 10,
      stepsInEpoch: 50,
      node: process.version,
      gpu: null,
      options: { workers: 1, depth: 4 },
    })
    expect(rank.headers[0].hashes?.order).toMatch(/^[0-9a-f]+$/)
    expect(rank.end?.reason).toBe('the feed was closed')
    expect(rank.records.reduce((sum, record) => sum + record.steps, 0)).toBe(steps)
    expect(rank.records.reduce((sum, record) => sum + record.samples, 0)).toBe(10 * steps)
    expect(rank.records.at(-1)?.step).toBe(steps)
    for (const record of rank.records) {
      expect(record).toMatchObject({ version: 1, rank: 1, world: 2, workers: 1, depth: 4, bad: 0 })
      if (record.lost === null) continue
      expect(Object.values(record.parts!).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 3)
      const { ready, filling, held } = record.slots!
      expect(ready + filling + held).toBeLessThanOrEqual(4)
    }
    expect(rank.records.some(({ lost }) => lost !== null)).toBe(true)
  })

  test('MILLRACE_LOG is for all feeds, unless one says false', async () => {
    const folder = temporaryFolder()
    process.env.MILLRACE_LOG = folder
    try {
      let count = 0
      await feedUntil({ log: false }, () => ++count > 3)
      expect(readdirSync(folder)).toEqual([])
      await feedUntil({}, () => ++count > 6)
      expect(readdirSync(folder)).toHaveLength(1)
    } finally {
      delete process.env.MILLRACE_LOG
    }
  })

  test('a folder that can’t be written to is refused when the feed is opened', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const refused = engine.open(FEED, { workers: 1, log: file })
    await expect(refused.ready).rejects.toThrow(`the run log can't be written to`)
    await refused.close()
    expect(() => engine.open(FEED, { log: '' })).toThrow('options.log: expected a folder')
  })

  test('a listener is told each second, without a log', async () => {
    const loader = engine.open(FEED, { workers: 1, epochs: null })
    const seen: Watched[] = []
    const stop = await loader.watch(watched => seen.push(watched), { idealMs: 5 })
    for await (const _ of loader) {
      await sleep(5)
      if (seen.length > 2) break
    }
    stop()
    await loader.close()
    const { record } = seen[2]
    expect(record).toMatchObject({ idealFrom: 'given', trainer: process.pid })
    expect(record.samples).toBe(10 * record.steps)
  })

  test('kill -9 leaves a readable log', async () => {
    const folder = temporaryFolder()
    const { start } = programs(folder)
    const logs = join(folder, 'logs')
    const { child, ended } = start(`
      const loader = open(${JSON.stringify(FEED)}, { workers: 1, epochs: null, log: ${JSON.stringify(logs)} })
      for await (const _ of loader) await new Promise(resolve => setTimeout(resolve, 5))
    `)
    children.push(child)
    await until(() => lines(logs) > 3)
    child.kill('SIGKILL')
    await ended
    const runs = readRunLog(logs)
    expect(runs[0].ranks[0].end).toBeNull()
    expect(records(runs).length).toBeGreaterThanOrEqual(2)
    expect(records(runs).some(({ steps }) => steps > 0)).toBe(true)
  })

  test('a program that does not close its feed ends all the same', async () => {
    const folder = temporaryFolder()
    const { run } = programs(folder)
    const { code } = await run(`
      const loader = open(${JSON.stringify(FEED)}, { workers: 0, steps: 5, log: 'logs' })
      for await (const _ of loader);
    `)
    expect(code).toBe(0)
    expect(readRunLog(join(folder, 'logs'))).toHaveLength(1)
  })

  test('ranks of one run, in several processes, are aligned', async () => {
    const folder = temporaryFolder()
    const { start } = programs(folder)
    const logs = join(folder, 'logs')
    const started = [0, 1].map(rank =>
      start(`
        const loader = open(${JSON.stringify(FEED)}, { workers: 1, epochs: null, rank: ${rank}, world: 2, log: 'logs' })
        for await (const _ of loader) await new Promise(resolve => setTimeout(resolve, 5))
      `),
    )
    for (const { child } of started) children.push(child)
    await until(() => lines(logs) > 4 && readdirSync(logs).length === 2)
    for (const { child, ended } of started) {
      child.kill('SIGKILL')
      await ended
    }
    const [run, ...others] = readRunLog(logs)
    expect(others).toEqual([])
    expect(run.ranks.map(({ rank, trainer }) => [rank, trainer])).toEqual(
      started.map(({ child }, rank) => [rank, child.pid]),
    )
    const both = alignRanks(run).filter(({ ranks }) => ranks.every(record => record !== null))
    expect(both.length).toBeGreaterThan(0)
    for (const { ranks } of both) expect(ranks.map(record => record?.rank)).toEqual([0, 1])
  })
})

test('a run in another process is watched through /proc, until it is killed', async () => {
  const folder = temporaryFolder()
  const { start } = programs(folder)
  const { child, ended } = start(`
    const loader = open(${JSON.stringify(FEED)}, { workers: 1, epochs: null })
    for await (const _ of loader) { process.stdout.write('.'); await new Promise(resolve => setTimeout(resolve, 5)) }
  `)
  children.push(child)
  await new Promise(resolve => child.stdout.once('data', resolve))
  const found = findRun(child.pid!)
  const watcher = new RunWatcher(sourceOfRun(found), {
    past: true,
    gpu: false,
    trainer: found.trainer.pid,
    engine: found.engine.pid,
  })
  let steps = 0
  await until(() => (steps += watcher.look().record.steps) > 20)
  expect(watcher.ended).toBeUndefined()
  child.kill('SIGKILL')
  await ended
  watcher.look()
  expect(watcher.ended).toBe(`the trainer (process ${child.pid}) has ended`)
  watcher.close()
  found.close()
})

describe.skipIf(withoutPython)('in Python', () => {
  test('is written by the engine, with the steps of the trainer; and read after both were killed', async () => {
    const folder = temporaryFolder()
    const logs = join(folder, 'logs')
    const env = {
      ...process.env,
      PYTHONPATH: join(import.meta.dirname, '../../../../python'),
      XDG_RUNTIME_DIR: folder,
    }
    const code = `
import json, time, millrace
feed = millrace.Feed(json.loads(${JSON.stringify(JSON.stringify(FEED))}), workers=1, epochs=None, log="logs")
for _ in feed:
    time.sleep(0.005)
`
    const child = spawn('python3', ['-c', code], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
    children.push(child)
    await until(() => lines(logs) > 5)
    const closed = new Promise(resolve => child.once('close', resolve))
    child.kill('SIGKILL')
    await closed
    await until(() => readRunLog(logs)[0].ranks[0].end !== null)
    const runs = readRunLog(logs)
    const [{ headers, trainer }] = runs[0].ranks
    expect(trainer).toBe(child.pid)
    expect(headers[0].engine).not.toBe(child.pid)
    const seen = records(runs).filter(({ steps }) => steps > 0)
    expect(seen.length).toBeGreaterThan(1)
    expect(seen.every(({ samples, steps }) => samples === 10 * steps)).toBe(true)
    expect(seen.at(-1)!.step).toBeGreaterThanOrEqual(
      seen.reduce((sum, { steps }) => sum + steps, 0) - seen[0].steps,
    )
  })
})
