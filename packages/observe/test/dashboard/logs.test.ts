/** Run logs that a dashboard shows: of other nodes, of runs that have ended, and files that are no logs at all. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { until } from '../../../../test/support/until.js'
import { Dashboard } from '../../dashboard/dashboard.js'
import { isBadNote, isRingNote } from '../../dashboard/run/engine-facts.js'
import { Logs } from '../../dashboard/run/logs.js'
import { toldOf } from '../../dashboard/run/shown-run.js'
import type { RunRecord } from '../../live/record.js'
import { type LogHeader, lineText } from '../../log/lines.js'
import { losing, recordOf } from '../live/records.js'

const dashboards: Dashboard[] = []
afterEach(() => {
  for (const dashboard of dashboards.splice(0)) dashboard.close()
})

async function start(log: string) {
  const dashboard = await Dashboard.start({
    price: 2,
    version: '1',
    host: '127.0.0.1',
    port: 0,
    log,
  })
  dashboards.push(dashboard)
  return dashboard
}

const why = (lost: number): RunRecord['why'] => ({
  verdict: 'under-parallel',
  second: null,
  sentence: `Your trainer loses ${lost}`,
  remedy: null,
  lost,
  seconds: 15,
})

/** A log in a folder: `from` is when it begins (ms since 1970). */
function logIn(folder: string, from: number, more: Partial<RunRecord> = {}) {
  const { host = 'node-2', trainer = 7, rank = 0, world = 1, feed = 'cats' } = more
  const header = {
    version: 1,
    time: from,
    at: 0,
    millrace: '1',
    node: '1',
    host,
    pid: trainer,
    trainer,
    engine: trainer,
    ring: 1,
    feed,
    rank,
    world,
    run: null,
    hashes: null,
    rows: 32,
    stepsInEpoch: 0,
    options: {},
    cores: 2,
    gpu: null,
  } as LogHeader
  const path = join(folder, `${from}-${feed}-${rank}.jsonl`)
  writeFileSync(path, lineText({ header }))
  const record = (second: number, now: Partial<RunRecord> = {}) =>
    appendFileSync(
      path,
      lineText({ ...recordOf(second, { ...more, ...now, host }), time: from + 1000 * second }),
    )
  return {
    path,
    record,
    end: (reason: string, time: number) => appendFileSync(path, lineText({ end: { time, reason } })),
  }
}

describe('a run that is known by its log alone', () => {
  test('has a sentence, a bar and a loss, while it goes on', async () => {
    const folder = temporaryFolder()
    const from = Date.now() - 20_000
    const first = logIn(folder, from, { rank: 0, world: 2 })
    const second = logIn(folder, from, { rank: 1, world: 2, ...losing(0.22), why: why(0.22) })
    for (let i = 1; i <= 20; i++) for (const one of [first, second]) one.record(i)
    const dashboard = await start(folder)
    expect(dashboard.runs).toMatchObject({ run: { feed: 'cats', world: 2 }, ended: null })
    const { now, ended, history } = dashboard.of(null).snapshot()
    expect(ended).toBeNull()
    expect(now!.ranks.map(({ rank }) => rank)).toEqual([0, 1])
    expect(now!.told).toMatchObject({
      rank: 1,
      host: 'node-2',
      lost: 0.22,
      why: { sentence: expect.any(String) },
    })
    expect(now!.told!.parts.running).toBeCloseTo(0.22)
    expect(history.at(-1)).toMatchObject({ lost: 0.22, samplesPerSecond: 640 })
  })

  test('that ended long ago is shown as it was at last, with its hour', async () => {
    const folder = temporaryFolder()
    const from = Date.now() - 86_400_000
    const log = logIn(folder, from, { ...losing(0.3), why: why(0.3) })
    for (let i = 1; i <= 100; i++) log.record(i)
    log.end('the feed was closed', from + 101_000)
    const dashboard = await start(folder)
    const { now, ended, history } = dashboard.of(null).snapshot()
    expect(ended).toEqual({ reason: 'the feed was closed', time: from + 101_000 })
    expect(now!.ranks[0].step).toBe(1000)
    expect(now!.told).toMatchObject({ lost: 0.3, why: { sentence: 'Your trainer loses 0.3' } })
    expect(history).toHaveLength(100)
    // One that goes on is shown before it.
    const next = logIn(folder, Date.now() - 3000, { trainer: 8 })
    for (let i = 1; i <= 3; i++) next.record(i)
    await until(() => dashboard.runs.run!.trainer === 8)
    expect(dashboard.runs.ended).toBeNull()
  })

  test('has a true history where its lines cover 10 s, and ranks write at different times', () => {
    const folder = temporaryFolder()
    const from = Date.now() - 600_000
    for (let rank = 0; rank < 8; rank++) {
      const more = { rank, world: 8, trainer: 100 + rank, engine: 100 + rank, seconds: 10, samples: 1000 }
      const log = logIn(folder, from, { ...more, ...losing(rank === 3 ? 0.5 : 0.1) })
      for (let i = 0; i < 60; i++) log.record(10 * i + rank + 1)
    }
    const points = new Logs(folder).history('cats', 8).slice(10, -10)
    expect(points.length).toBeGreaterThan(500)
    for (const { samplesPerSecond, lost } of points) {
      expect(samplesPerSecond).toBeCloseTo(800)
      expect(lost).toBe(0.5)
    }
    for (const [i, { time }] of points.slice(1).entries()) expect(time - points[i].time).toBe(1000)
  })

  test('lines that are none of ours are left out', async () => {
    const folder = temporaryFolder()
    const log = logIn(folder, Date.now() - 5000)
    const record = recordOf(1)
    for (const line of [
      ...['{"header":null}', '{"steps":1}', 'null', '[]', '7', '{"end":{}}', '{"end":null}', '{"alert":5}'],
      JSON.stringify({ ...record, rank: -1 }),
      JSON.stringify({ ...record, rank: 1e9 }),
      JSON.stringify({ ...record, seconds: 0 }),
      JSON.stringify({ ...record, parts: {} }),
      JSON.stringify({ ...record, why: {} }),
      JSON.stringify({ ...record, memory: 'much' }),
      JSON.stringify({ ...record, decisions: [{}] }),
    ])
      appendFileSync(log.path, `${line}\n`)
    log.record(5)
    writeFileSync(join(folder, 'other.jsonl'), '{"header":{"time":"now"}}\n')
    mkdirSync(join(folder, 'folder.jsonl'))
    const dashboard = await start(folder)
    const { now, history, ended } = dashboard.of(null).snapshot()
    expect(now!.ranks).toHaveLength(1)
    expect(history).toHaveLength(1)
    expect(ended).toBeNull()
  })
})

test('a file that has not grown is not read again; what is added to it is', () => {
  const folder = temporaryFolder()
  const from = Date.now() - 10_000
  const log = logIn(folder, from)
  log.record(1)
  const logs = new Logs(folder)
  expect([...logs.newest()!.files].map(({ records }) => records.at(-1)!.step)).toEqual([10])
  log.record(2)
  logs.look()
  expect([...logs.newest()!.files].map(({ records }) => records.at(-1)!.step)).toEqual([20])
  // Only the last record is kept, until its run is shown.
  expect([...logs.newest()!.files].map(({ records }) => records.length)).toEqual([1])
  expect(logs.history('cats', 1)).toHaveLength(2)
  expect([...logs.newest()!.files].map(({ records }) => records.length)).toEqual([2])
})

test('what is told of a rank is the mean of its last seconds; of several, that of the worst', () => {
  const records = (lost: number) =>
    Array.from({ length: 30 }, (_, i) => recordOf(i, losing(i < 10 ? 1 : lost)))
  expect(toldOf(new Map([[0, records(0.2)]]))).toMatchObject({
    lost: expect.closeTo(0.2),
    stepMs: 100,
    why: null,
  })
  const ranks = new Map([
    [0, records(0.1)],
    [1, records(0.4).map(record => ({ ...record, rank: 1 }))],
  ])
  expect(toldOf(ranks)!.rank).toBe(1)
  expect(
    toldOf(new Map([[0, [recordOf(1, { steps: 0, stepMs: null, lost: null, parts: null })]]])),
  ).toBeNull()
})

test('notes of other processes are checked before they are used', () => {
  for (const note of [
    null,
    7,
    {},
    { kind: 'ring', ring: 1 },
    { kind: 'ring', ring: 1, layout: { fields: null } },
  ])
    expect(isRingNote(note)).toBe(false)
  expect(isBadNote({ kind: 'bad', ring: 1, id: 'x', message: 'y' })).toBe(false)
  expect(isBadNote({ kind: 'bad', ring: 1, count: 1, id: 'x', message: 'y', file: 3 })).toBe(false)
  expect(isBadNote({ kind: 'bad', ring: 1, count: 1, id: 'x', message: 'y' })).toBe(true)
})
