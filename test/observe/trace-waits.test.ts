/** How long a trainer waited, by its trace: waits are counted by step, also where they are joined. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ChromeEncoder } from '../../src/observe/trace/chrome.js'
import { summarise } from '../../src/observe/trace/read/summary.js'
import { Timeline } from '../../src/observe/trace/timeline.js'
import type { LaneInfo, RingInfo, SpanRecord } from '../../src/spans/reader.js'
import type { LevelName, SpanName } from '../../src/spans/span-words.js'
import { temporaryFolder } from '../support/folder.js'

const folder = temporaryFolder()
const trainer: LaneInfo = {
  ...{ lane: 256, kind: 'consumer', number: 0, name: 'trainer 0', open: true, written: 0 },
}
const worker: LaneInfo = { ...trainer, lane: 0, kind: 'worker', name: 'worker 0' }

interface Step {
  wait: number
  hand: number
  compute: number
}

/** Records of steps as a trainer writes them: some are joined, by kind, one kind after the other. */
function recordsOf(groups: readonly (readonly Step[])[]): SpanRecord[] {
  const records: SpanRecord[] = []
  const none = { bytes: 0, firstRow: 0, rows: 0, cpu: Number.NaN, delay: Number.NaN, number: 0, ring: 1 }
  let [at, batch] = [1, 0]
  for (const steps of groups) {
    const first = batch
    batch += steps.length
    const kinds: [SpanName, (step: Step) => number][] = [
      ['wait', ({ wait }) => wait],
      ['step', ({ compute }) => compute],
      ['hand', ({ hand }) => hand],
    ]
    // A step by itself is written in the order of time.
    if (steps.length === 1) kinds.splice(1, 2, kinds[2], kinds[1])
    for (const [kind, of] of kinds) {
      const some = steps.map((step, i) => ({ ms: of(step), i })).filter(({ ms }) => ms > 0)
      if (some.length === 0) continue
      const duration = some.reduce((sum, { ms }) => sum + ms, 0)
      const about = { batch: first + some[0].i, joined: some.length }
      records.push({ ...none, lane: trainer, kind, start: at, duration, ...about })
      at += duration
    }
  }
  return records
}

let files = 0
async function shown(records: SpanRecord[], level: LevelName = 'spans') {
  const ring = { ring: 1, name: 'cats', rank: 0, world: 1, open: true, begun: 0, engine: 10, engineRing: 1 }
  const facts = { workers: 1, depth: 4, claims: 1, rows: 8, slotBytes: 1, stepsInEpoch: 0, level }
  const timeline = new Timeline(0, pid => `process ${pid}`, 2)
  const made = { ...records[0], lane: worker, kind: 'read' as const, start: 0.5, duration: 0.25, joined: 1 }
  timeline.add(10, [made, ...records], [{ ...ring, ...facts } as RingInfo])
  const encoder = new ChromeEncoder()
  const text = encoder.begin({ base: 0, realtime: 0 }) + encoder.events(timeline.take(true)) + encoder.end()
  const path = join(folder, `${files++}.json`)
  writeFileSync(path, text)
  return summarise(path)
}

it('counts a wait and its hand-over once, and joined ones as many times as they are', async () => {
  const short = { wait: 0, hand: 0.03, compute: 0.5 }
  const long = { wait: 20, hand: 1, compute: 5 }
  const { waits, steps, longest } = await shown(recordsOf([[long], Array(58).fill(short), [long]]))
  expect(steps).toBe(60)
  expect(waits).toEqual({
    ...{ count: 60, totalMs: 43.74, p50: 0.03, p95: 0.03, p99: 21, max: 21 },
    from: 'joined',
  })
  expect(longest.map(({ ms, batch, joined }) => [ms, batch, joined])).toEqual([
    [21, 0, 1],
    [21, 59, 1],
    [0.03, 1, 58],
  ])
})

it('has no more waits than steps, and all of their time, however they are joined', async () => {
  const ms = fc.integer({ min: 0, max: 800 }).map(ticks => ticks / 8)
  const step = fc.record({ wait: ms, hand: ms, compute: fc.integer({ min: 8, max: 800 }).map(t => t / 8) })
  const groups = fc.array(fc.array(step, { minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(groups, async groups => {
      const all = groups.flat()
      const { waits, steps } = await shown(recordsOf(groups))
      const waited = all.map(({ wait, hand }) => wait + hand).filter(sum => sum > 0)
      const totalMs = waited.reduce((sum, one) => sum + one, 0)
      expect(steps).toBe(all.length)
      expect(waits?.count ?? 0).toBeLessThanOrEqual(steps)
      expect(Math.abs((waits?.totalMs ?? 0) - totalMs)).toBeLessThan(0.01)
      expect(waits?.max ?? 0).toBeLessThanOrEqual(Math.max(0, ...waited) + 0.01)
      if (groups.every(({ length }) => length === 1) && waited.length > 0)
        expect([waits?.count, waits?.from]).toEqual([waited.length, 'each'])
    }),
    { numRuns: 60 },
  )
}, 60_000)

it('keeps the wait for a batch that never came among the longest', async () => {
  const records = recordsOf([[{ wait: 1, hand: 0.5, compute: 2 }]])
  const { waits, longest } = await shown([
    ...records,
    { ...records[0], kind: 'wait', batch: 1, start: 10, duration: 50 },
  ])
  expect([waits?.count, longest.map(({ ms, batch }) => [ms, batch])]).toEqual([
    1,
    [
      [50, 1],
      [1.5, 0],
    ],
  ])
})

it('says of the level "counters" that it has sums alone', async () => {
  const { waits } = await shown(recordsOf([[{ wait: 1, hand: 0.5, compute: 2 }]]), 'counters')
  expect(waits).toMatchObject({ totalMs: 1.5, from: 'sums' })
})
