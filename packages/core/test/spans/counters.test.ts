/** Counters of lanes: exact sums, readable at any moment, in both languages. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { withoutPython } from '../../../../test/support/python.js'
import { until } from '../../../../test/support/until.js'
import { attachSpans } from '../../spans/attach.js'
import { SpanClock } from '../../spans/clock.js'
import { newSpanFile, openLane } from '../../spans/file.js'
import {
  COUNTER_BYTES,
  COUNTERS_AT,
  LAST_WORK,
  SPAN_NAMES,
  SpanKind,
  SpanLevel,
  type SpanName,
  SUMS,
} from '../../spans/span-words.js'
import { viewOf } from '../../system/memory/foreign.js'

const folder = temporaryFolder()
const python = join(import.meta.dirname, '../../../../python')

/** Numbers that look random, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe.each(Object.values(SpanLevel))('at level %i', level => {
  test('counters are the sums of the records', () => {
    const file = newSpanFile()
    const lane = openLane(file.maker(3)!)
    const next = numbers(level)
    const clock = new SpanClock()
    for (let i = 0, now = 0; i < 2000; i++) {
      const ring = lane.of(1 + Math.floor(next() * 3), level)
      if (next() < 0.3) ring.add(SpanKind.Wait, now, next() * 3)
      else {
        clock.sums.fill(0)
        for (let kind = 1; kind <= LAST_WORK; kind++) if (next() < 0.7) clock.sums[kind] = next()
        clock.sums[SpanKind.Read] ||= 0.1
        clock.last = now += 5
        clock.reads = 2
        clock.opens = 1
        ring.addClaim(clock, { rows: Math.floor(next() * 9), bytes: Math.floor(next() * 1e4), batch: i })
      }
    }
    lane.flush()
    const [{ lane: whose, rings }] = file.reader.counters()
    expect(whose).toMatchObject({ name: 'worker 3' })
    expect(rings.map(({ ring }) => ring).sort()).toEqual([1, 2, 3])
    const { records, lost } = file.reader.readSince()
    expect(lost).toBe(0)
    for (const { ring, ms, bytes, rows, claims, reads, opens } of rings) {
      const own = records.filter(record => record.ring === ring)
      const sum = (kind: SpanName, of: 'duration' | 'rows' | 'joined' | 'bytes') =>
        own.reduce((total, record) => total + (record.kind === kind ? record[of] : 0), 0)
      for (const kind of SPAN_NAMES.slice(1) as SpanName[])
        expect(ms[kind]).toBeCloseTo(sum(kind, 'duration'), 6)
      expect([bytes, rows, claims]).toEqual([
        sum('read', 'bytes'),
        sum('read', 'rows'),
        sum('read', 'joined'),
      ])
      expect([reads, opens]).toEqual([2 * claims, claims])
      expect(file.reader.counters(ring)).toMatchObject([{ lane: { lane: 3 }, rings: [{ ring, rows }] }])
    }
    // Counters write hardly any records.
    const claims = rings.reduce((total, ring) => total + ring.claims, 0)
    if (level === SpanLevel.Counters) expect(records.length).toBeLessThan(claims / 5)
  })
})

test('a lane has CPU time, and garbage apart from work', async () => {
  const file = newSpanFile()
  const lane = openLane(file.maker(0)!)
  const begun = process.cpuUsage()
  while (process.cpuUsage(begun).user < 120_000) lane.of(1).add(SpanKind.Read, performance.now(), 0.01)
  lane.gc(performance.now(), 3)
  lane.gc(performance.now(), 4)
  await new Promise(resolve => setTimeout(resolve, 60)) // CPU time is looked up now and then
  lane.of(1).add(SpanKind.Read, performance.now(), 0.01)
  lane.flush()
  const [counters] = file.reader.counters()
  expect(counters.gc).toBe(7)
  if (process.platform === 'linux') {
    expect(counters.cpu).toBeGreaterThan(10)
    expect(counters.delay).toBeGreaterThanOrEqual(0)
    // What records tell is the same time.
    const reported = file.reader.readSince().records.reduce((sum, { cpu }) => sum + (cpu || 0), 0)
    expect(reported).toBeCloseTo(counters.cpu, 1)
  }
  expect(counters.rings[0]).toMatchObject({ ring: 0, ms: { gc: 7, read: 0 } })
})

test('a thread that takes the place of another goes on with its sums', () => {
  const file = newSpanFile()
  const first = openLane(file.maker(0)!)
  first.of(1).add(SpanKind.Read, 0, 10)
  first.flush()
  const second = openLane(file.maker(0)!)
  second.of(1).add(SpanKind.Read, 20, 5)
  second.flush()
  expect(file.reader.counters(1)[0].rings[0].ms.read).toBe(15)
})

describe('a lane that works for many rings', () => {
  const readOf = (reader: ReturnType<typeof newSpanFile>['reader'], ring: number) =>
    reader.counters(ring)[0]?.rings[0].ms.read

  test('forgets those that are closed first, then those not used for longest', () => {
    const file = newSpanFile()
    const lane = openLane(file.maker(0)!)
    let now = 0
    const use = (ring: number) => {
      lane.of(ring).add(SpanKind.Read, (now += 10), 7)
      lane.flush(now + 7)
    }
    for (let ring = 1; ring < SUMS; ring++) use(ring)
    lane.forget(3)
    expect(readOf(file.reader, 3)).toBe(7)
    use(20)
    expect(readOf(file.reader, 3)).toBeUndefined()
    for (const ring of [1, 2, 4, 20]) expect(readOf(file.reader, ring)).toBe(7)
    use(1)
    use(21)
    expect(readOf(file.reader, 2)).toBeUndefined()
    // One whose place was taken comes back with all of its sums.
    use(2)
    expect(readOf(file.reader, 2)).toBe(14)
  })
})

test.each([0, 1])('when copy %i is torn, the other one holds', torn => {
  const file = newSpanFile()
  const ref = file.maker(0)!
  const lane = openLane(ref)
  for (const at of [0, 10]) {
    lane.of(0).add(SpanKind.Idle, at, 8)
    lane.flush(at + 8)
  }
  const bytes = new Uint8Array(viewOf(ref.address + BigInt(COUNTERS_AT), COUNTER_BYTES))
  const sums = (): number | undefined => file.reader.counters()[0].rings[0]?.ms.idle
  expect(sums()).toBe(16)
  const at = 128 + torn * 192 + 60
  bytes[at] ^= 1
  // Number 1 stands in the second place, number 2 in the first.
  expect(sums()).toBe(torn === 0 ? 8 : 16)
  bytes[at + (torn === 0 ? 192 : -192)] ^= 1
  expect(sums()).toBeUndefined()
})

/** Adds the same to every sum of a ring at once: a reader that sees a torn entry sees sums that differ. */
const writer = join(folder, 'writer.mjs')
writeFileSync(
  writer,
  `import { newSpanFile, openLane } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../../../build/core/spans/file.js')).href)}
  const file = newSpanFile()
  const lane = openLane(file.maker(0))
  console.log(file.path)
  const clock = { sums: new Float64Array(16), last: 0, reads: 1, opens: 1 }
  for (let kind = 1; kind <= ${LAST_WORK}; kind++) clock.sums[kind] = 1
  for (;;) {
    clock.last += 8
    lane.of(5).addClaim(clock, { rows: 1, bytes: 1 })
  }`,
)

const even = ({ ms, bytes, rows, claims, reads, opens }: ReturnType<typeof ringOf>) => {
  const all = [ms.read, ms.decode, ms.transform, ms.map, ms.close, ms.open, bytes, rows, claims, reads, opens]
  return all.every(one => one === all[0])
}
const ringOf = (spans: ReturnType<typeof attachSpans>) => spans.counters(5)[0].rings[0]

test('after kill -9, and before, counters are whole and never fall', async () => {
  for (let time = 0; time < 10; time++) {
    const child = spawn(process.execPath, [writer], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', data => (said += data))
    await until(() => said.includes('\n'))
    using spans = attachSpans(said.trim())
    await until(() => spans.counters(5).length > 0)
    let last = 0
    for (let look = 0; look < 50 * time; look++) {
      const [counters] = spans.counters(5)
      if (counters === undefined) continue // both copies were written meanwhile
      expect(even(counters.rings[0])).toBe(true)
      expect(counters.rings[0].rows).toBeGreaterThanOrEqual(last)
      last = counters.rings[0].rows
    }
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(even(ringOf(spans))).toBe(true)
    expect(ringOf(spans).rows).toBeGreaterThanOrEqual(last)
  }
})

describe.skipIf(withoutPython)('the other language', () => {
  const run = (code: string, ...args: string[]) =>
    execFileSync('python3', ['-c', code, ...args], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: python },
    })

  test('reads the same counters and rings', () => {
    const file = newSpanFile()
    file.openRing({ id: 5, name: 'cats', rank: 1, world: 2, level: SpanLevel.Counters, ...FACTS })
    const lane = openLane(file.maker(2)!)
    const clock = new SpanClock()
    for (let kind = 1; kind <= LAST_WORK; kind++) clock.sums[kind] = kind / 8
    Object.assign(clock, { last: 100, reads: 3, opens: 2 })
    for (let i = 0; i < 9; i++) lane.of(5).addClaim(clock, { rows: 7, bytes: 1000.5 })
    lane.of(0).add(SpanKind.Idle, 200, 12.25)
    lane.gc(220, 1.5)
    lane.flush()
    const code = `import json, sys, millrace
def plain(one):
    return {k: plain(v) for k, v in one._asdict().items()} if hasattr(one, "_asdict") else \\
        [plain(v) for v in one] if isinstance(one, list) else one
with millrace.spans(sys.argv[1]) as spans:
    print(json.dumps([plain(spans.counters()), plain(spans.counters(5)), plain(spans.rings())]))`
    const reported = JSON.parse(run(code, file.path))
    const { slotBytes, stepsInEpoch, engineRing, ...ring } = file.reader.rings()[0]
    const renamed = { ...ring, slot_bytes: slotBytes, steps_in_epoch: stepsInEpoch, engine_ring: engineRing }
    expect(reported).toEqual([file.reader.counters(), file.reader.counters(5), [renamed]])
    expect(ring).toMatchObject({ workers: 3, depth: 4, claims: 8, rows: 64, level: 'counters' })
    expect([slotBytes, stepsInEpoch]).toEqual([2 ** 33, 100])
  })

  test('writes counters that are read here', async () => {
    const code = `import sys
from millrace._spans.file import SpanFile
file = SpanFile()
ring = file.open_ring("cats", 0, 1, 4711, 9)
for _ in range(2):  # the second goes on with the sums of the first
    lane = file.take(4, "trainer")
    for i in range(10):
        lane.add(ring, 7, i, 0.25, rows=8)
        lane.add(ring, 10, i + 0.25, 0.5, rows=8)
    lane.add(0, 13, 20, 0.125)
    lane.flush()
    file.give(lane)
print(file.path, flush=True)
sys.stdin.read()`
    const child = spawn('python3', ['-c', code], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, PYTHONPATH: python },
    })
    let said = ''
    child.stdout.on('data', data => (said += data))
    await until(() => said.includes('\n'))
    using spans = attachSpans(said.trim())
    expect(spans.counters()).toMatchObject([
      {
        lane: { name: 'trainer 0' },
        gc: 250,
        rings: [
          { ring: 0, ms: { gc: 250 } },
          { ring: 1, ms: { wait: 5000, step: 10_000, read: 0 }, rows: 160, claims: 20 },
        ],
      },
    ])
    expect(spans.rings()).toMatchObject([{ workers: 0, depth: 0, stepsInEpoch: 0, level: 'spans' }])
    child.stdin.end()
    await once(child, 'exit')
  })
})

const FACTS = { workers: 3, depth: 4, claims: 8, rows: 64, slotBytes: 2 ** 33, steps: 100 }
