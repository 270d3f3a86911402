/** Watching a run, second by second: simulated spans, whose truth is known. */
import { describe, expect, test } from 'vitest'
import type { LaneInfo, SpanRecord } from '../../../core/spans/reader.js'
import { collect } from '../../account/collect.js'
import type { Counters, RingFacts, SpanReading } from '../../account/source.js'
import { RecentSpans } from '../../live/recent.js'
import type { RunRecord } from '../../live/record.js'
import { RunWatcher, type Watched } from '../../live/watcher.js'
import { laneOf } from '../account/fake-spans.js'

const FACTS: RingFacts = {
  ring: 1,
  rank: 2,
  world: 4,
  begun: 0,
  workers: 1,
  depth: 4,
  claims: 8,
  rows: 32,
  slotBytes: 4096,
  stepsInEpoch: 10,
  name: 'cats',
  open: true,
  engine: process.pid,
  engineRing: 1,
}
const trainer = laneOf('consumer', 0)
const maker = laneOf('worker', 0)

/** Spans that are read as those of a process: from a cursor on. */
class LiveSpans implements SpanReading {
  readonly records: SpanRecord[] = []
  table: RingFacts[] = [{ ...FACTS }]
  lost = 0

  add(lane: LaneInfo, kind: string, start: number, duration: number, more: Partial<SpanRecord> = {}): void {
    this.records.push({
      lane,
      kind: kind as SpanRecord['kind'],
      ring: 1,
      start,
      duration,
      bytes: 0,
      batch: -1,
      firstRow: 0,
      rows: 0,
      cpu: Number.NaN,
      delay: Number.NaN,
      joined: 1,
      number: this.records.length,
      ...more,
    })
  }

  readSince([from = 0]: number[] = []) {
    const records = this.records.slice(from)
    // By lane, as a reader gives them.
    records.sort((a, b) => a.lane.lane - b.lane.lane || a.number - b.number)
    const { lost } = this
    this.lost = 0
    return { records, cursor: [this.records.length], lost }
  }

  end() {
    return [this.records.length]
  }

  rings() {
    return this.table
  }

  counters(wanted?: number): Counters[] {
    return [trainer, maker].map(lane => {
      const own = this.records.filter(record => record.lane.lane === lane.lane)
      const open = this.table.filter(({ ring }) => wanted === undefined || ring === wanted)
      const rings = open.map(({ ring }) => {
        const of = own.filter(record => record.ring === ring)
        const steps = of.filter(({ kind }) => kind === 'step').reduce((sum, { joined }) => sum + joined, 0)
        const bytes = of.reduce((sum, record) => sum + record.bytes, 0)
        return { ring, ms: {}, bytes, rows: 0, claims: steps, reads: 0, opens: 0, at: 0 }
      })
      return { lane, cpu: 0, delay: 0, gc: 0, at: 0, rings }
    })
  }
}

/** A run that is moved on by hand. A step waits 10 ms of 50, all of which the maker decodes. */
class Simulated {
  readonly spans = new LiveSpans()
  ring = 1
  now = 100_000
  batch = 0
  readonly watcher: RunWatcher

  constructor(past = 0) {
    if (past > 0) this.run(past)
    const one = { reader: this.spans, ring: 1 }
    this.watcher = new RunWatcher(
      { trainer: one, engine: one },
      { trainer: process.pid, engine: process.pid, gpu: false, now: () => this.now, past: past > 0 },
    )
  }

  run(ms: number, step = 50, wait = 10): void {
    const { spans, ring } = this
    for (const end = this.now + ms; this.now < end; this.now += step) {
      const work = { batch: this.batch, firstRow: (this.batch++ % 10) + 1, rows: 32, ring }
      spans.add(maker, 'decode', this.now, step, { ...work, bytes: 1000, cpu: step, delay: 0 })
      spans.add(trainer, 'wait', this.now, wait, work)
      spans.add(trainer, 'step', this.now + wait, step - wait, work)
    }
  }

  look(ms = 1000, ...more: [step?: number, wait?: number]): Watched {
    this.run(ms, ...more)
    return this.watcher.look()
  }

  /** Time in which nothing ends. */
  wait(ms: number): Watched {
    this.now += ms
    return this.watcher.look()
  }
}

describe('a record', () => {
  test('says what happened in its second', () => {
    const run = new Simulated()
    run.look()
    const { record, makers } = run.look()
    expect(record).toMatchObject({
      seconds: 1,
      step: 40,
      steps: 20,
      samples: 640,
      bytes: 20_000,
      stepMs: 50,
      idealMs: 40,
      feed: 'cats',
      rank: 2,
      world: 4,
      ring: 1,
      trainer: process.pid,
      workers: 1,
      depth: 4,
      slots: null,
      wait: { p50: 10, p95: 10, max: 10 },
    })
    expect([record.lost, record.parts?.running]).toEqual([expect.closeTo(0.2), expect.closeTo(0.2)])
    expect(makers).toEqual([{ number: 0, work: { decode: 1 }, wait: 0, idle: 0, cpu: 1 }])
    expect(record.cores?.allowed).toBeGreaterThan(0)
    expect(record.memory?.bytes).toBeGreaterThan(0)
  })

  test('the first step is counted, and says nothing of losses', () => {
    const run = new Simulated()
    const { record } = run.look(50)
    expect(record).toMatchObject({ steps: 1, samples: 32, lost: null, parts: null, stepMs: null, wait: null })
  })

  test('steps of 30 s: one second has all of it, the others say that nothing is known', () => {
    const run = new Simulated()
    run.look(1000)
    const begun = run.now
    const seen: RunRecord[] = []
    for (let second = 0; second < 30; second++) {
      run.spans.add(maker, 'decode', run.now, 1000, { rows: 1, cpu: 1000, delay: 0 })
      if (second < 29) seen.push(run.wait(1000).record)
    }
    for (const record of seen)
      expect(record).toMatchObject({
        steps: 0,
        samples: 0,
        lost: null,
        parts: null,
        stepMs: null,
        wait: null,
      })
    expect(JSON.stringify(seen)).not.toMatch(/NaN|Infinity/)
    run.spans.add(trainer, 'wait', begun, 6000, { batch: run.batch, rows: 32 })
    run.spans.add(trainer, 'step', begun + 6000, 24_000, { batch: run.batch, rows: 32 })
    const { record } = run.wait(1000)
    expect(record).toMatchObject({ steps: 1, stepMs: 30_000 })
    expect(record.lost).toBeCloseTo(0.2)
    // What makers did in the first seconds of it is not forgotten.
    expect(record.parts?.running).toBeCloseTo(0.2)
  })

  test('a step that straddles two seconds is in the one that it ended in: none is lost or counted twice', () => {
    const run = new Simulated()
    const steps = Array.from({ length: 40 }, (_, i) => run.look(700 + (i % 7) * 130, 37).record.steps)
    expect(steps.reduce((sum, count) => sum + count, 0)).toBe(run.batch)
  })

  test('counters only: one joined record a second', () => {
    const run = new Simulated()
    for (let second = 0; second < 5; second++) {
      const work = { batch: 20 * second, rows: 640, joined: 20, firstRow: 0 }
      run.spans.add(maker, 'decode', run.now, 1000, { ...work, cpu: 1000, delay: 0 })
      run.spans.add(trainer, 'step', run.now, 800, work)
      run.spans.add(trainer, 'wait', run.now + 800, 200, work)
      run.now += 1000
      const { record } = run.watcher.look()
      if (second === 0) continue
      // A wait that is written after its step belongs to that all the same.
      expect(record).toMatchObject({ steps: 20, samples: 640 })
    }
  })
})

describe('why', () => {
  test('is told of the last 15 s, and not before some were seen', () => {
    const run = new Simulated()
    expect(run.look().record.why).toBeNull()
    const seen = Array.from({ length: 30 }, () => run.look())
    const { record, window } = seen[29]
    expect(record.why).toMatchObject({ lost: window!.accounting.lost })
    expect(record.why!.seconds).toBeCloseTo(15, 0)
    expect(window!.accounting.lost).toBeCloseTo(0.2)
    expect(window!.evidence.steps.length).toBeCloseTo(300, -1)
    // What was told stays as it was.
    run.look()
    expect(window!.evidence.steps.length).toBeCloseTo(300, -1)
    expect(record.why!.sentence).not.toBe('')
  })

  test('the window grows until it has the steps that a verdict needs', () => {
    const run = new Simulated()
    for (let second = 0; second < 80; second++) run.look(1000, 500, 100)
    const { window, record } = run.look(1000, 500, 100)
    expect(window!.accounting.steps).toBeGreaterThanOrEqual(100)
    expect(record.why!.seconds).toBeGreaterThan(45)
    // What was long ago is kept joined.
    expect(window!.evidence.makers.length).toBeLessThan(80)
    const time = window!.evidence.makers.reduce((sum, { from, to }) => sum + to - from, 0)
    expect(time / 1000).toBeGreaterThan(45)
  })

  test('changes with the run', () => {
    const run = new Simulated()
    for (let second = 0; second < 20; second++) run.look()
    for (let second = 0; second < 30; second++) run.look(1000, 50, 0)
    const { window, record } = run.look(1000, 50, 0)
    expect(record.lost).toBe(0)
    expect(window!.diagnosis.verdict).toBe('compute-bound')
  })

  test('a run that is looked at late begins with its last seconds', () => {
    const run = new Simulated(60_000)
    const { record, window } = run.look()
    expect(record).toMatchObject({ steps: 20, step: 1220 })
    expect(window!.accounting.lost).toBeCloseTo(0.2)
    expect(window!.evidence.to - window!.evidence.from).toBeLessThan(17_000)
  })
})

describe('a run', () => {
  test('goes on in another ring', () => {
    const run = new Simulated()
    run.look()
    run.spans.table = [
      { ...FACTS, open: false },
      { ...FACTS, ring: 2, engineRing: 2, begun: run.now },
      { ...FACTS, ring: 3, engineRing: 3, begun: run.now, name: 'dogs' },
    ]
    // Half of this second is the old ring's.
    run.run(500)
    run.ring = 2
    run.batch = 0
    const both = run.look(500).record
    expect(both).toMatchObject({ ring: 2, steps: 20, step: 40 })
    const { record } = run.look()
    expect(record).toMatchObject({ ring: 2, steps: 20, step: 60 })
    expect(record.lost).toBeCloseTo(0.2)
    expect(run.watcher.ended).toBeUndefined()
  })

  test('ends when its ring is closed', () => {
    const run = new Simulated()
    run.look()
    run.spans.table = [{ ...FACTS, open: false }]
    for (let second = 0; second < 3; second++) run.wait(1000)
    expect(run.watcher.ended).toBe('the feed was closed')
    expect(run.wait(1000).record.steps).toBe(0)
  })

  test('the memory of a watcher does not grow with time', () => {
    const run = new Simulated()
    for (let second = 0; second < 100; second++) run.look()
    const { evidence } = run.look().window!
    expect(evidence.steps.length).toBeLessThan(400)
    expect(evidence.makers.length).toBeLessThan(400)
    expect(evidence.claims!.length).toBeLessThan(400)
  })
})

test('read piece by piece, spans give the same steps and slices as read at once', () => {
  const spans = new LiveSpans()
  const source = { trainer: { reader: spans, ring: 1 }, engine: { reader: spans, ring: 1 } }
  const recent = new RecentSpans(source, 0)
  const seen = { steps: 0, slices: 0 }
  for (let i = 0; i < 100; i++) {
    const work = { batch: i, firstRow: (i % 10) + 1, rows: 32 }
    spans.add(maker, 'read', i * 50, 30, { ...work, cpu: i % 3 === 0 ? 20 : Number.NaN, delay: 1 })
    spans.add(maker, 'decode', i * 50 + 30, 20, work)
    spans.add(trainer, 'wait', i * 50, 7, work)
    spans.add(trainer, 'step', i * 50 + 7, 43, work)
    if (i % 7 !== 0) continue
    const { steps, slices } = recent.look(i * 50 + 50)
    seen.steps += steps.length
    seen.slices += slices.length
  }
  const { steps, slices } = recent.look(5000)
  const whole = collect(source)
  const { steps: kept, makers } = recent.window(5000, {})
  expect(kept).toEqual(whole.steps)
  expect([seen.steps + steps.length, seen.slices + slices.length]).toEqual([100, makers.length])
  // The last slice is open: it ends when something comes after it.
  expect(makers).toEqual(whole.makers.slice(0, makers.length))
  expect(whole.makers.length - makers.length).toBeLessThanOrEqual(1)
})
