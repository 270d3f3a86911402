import { describe, expect, it } from 'vitest'
import type { LaneInfo, RingInfo, SpanRecord } from '../../core/spans/reader.js'
import type { LaneName, SpanName } from '../../core/spans/span-words.js'
import { ChromeEncoder } from '../trace/chrome.js'
import type { TraceEvent } from '../trace/events.js'
import { Flows } from '../trace/flows.js'
import { Timeline } from '../trace/timeline.js'
import { checkTrace } from './trace-check.js'

const ring = { ring: 1, name: 'cats', rank: 0, world: 1, open: true, begun: 0, depth: 4, claims: 2, rows: 8 }
const engine = { ...ring, engine: 10, engineRing: 1, stepsInEpoch: 4 } as RingInfo
/** A trainer's own ring has another number, and none of the facts. */
const trainer = { ...engine, ring: 3, depth: 0, claims: 0, rows: 0, stepsInEpoch: 0 } as RingInfo

function lane(kind: LaneName, number: number): LaneInfo {
  return {
    lane: kind === 'worker' ? number : 256 + number,
    kind,
    number,
    name: `${kind} ${number}`,
    open: true,
    written: 0,
  }
}

function record(
  on: LaneInfo,
  kind: SpanName,
  start: number,
  duration: number,
  rest: Partial<SpanRecord> = {},
) {
  const none = { bytes: 0, batch: -1, firstRow: 0, rows: 0, cpu: Number.NaN, delay: Number.NaN }
  return {
    lane: on,
    kind,
    ring: on.kind === 'consumer' ? 3 : 1,
    start,
    duration,
    ...none,
    joined: 1,
    number: 0,
    ...rest,
  } as SpanRecord
}

/** The trace of records by process, checked. */
function traced(records: Record<number, SpanRecord[]>, base = 0) {
  const timeline = new Timeline(base, pid => `process ${pid}`, 2)
  const encoder = new ChromeEncoder()
  let text = encoder.begin({ base, realtime: 1000 })
  timeline.add(10, [], [engine])
  timeline.add(20, [], [trainer])
  // As a recorder reads them: piece by piece.
  const last = Math.max(...Object.values(records).map(list => list.at(-1)!.start))
  for (let from = base - 10; from <= last; from += 20) {
    for (const [pid, list] of Object.entries(records)) {
      const piece = list.filter(({ start }) => start >= from && start < from + 20)
      timeline.add(Number(pid), piece, [])
    }
    text += encoder.events(timeline.take(false))
  }
  text += encoder.events(timeline.take(true)) + encoder.end()
  return checkTrace(Buffer.from(text))
}

/** How many arrows the records of processes give, read at once. */
function arrowsOf(records: Record<number, SpanRecord[]>): number {
  const timeline = new Timeline(0, pid => `process ${pid}`, 2)
  timeline.add(10, records[10], [engine])
  timeline.add(20, records[20], [trainer])
  const events = [...timeline.take(false), ...timeline.take(false), ...timeline.take(true)]
  return events.filter(event => event.type === 'flow' && event.at === 'end').length
}

describe('a trace', () => {
  const [w0, w1, loop] = [lane('worker', 0), lane('worker', 1), lane('consumer', 0)]

  it('has arrows from claims over the close to the step of the batch', () => {
    const { flows, slices, threads, counters, instants } = traced({
      10: [
        record(w0, 'read', 1.0001, 2.0003, { batch: 0, rows: 4, bytes: 100 }),
        record(w0, 'decode', 3.0004, 3, { batch: 0, rows: 4, cpu: 2.5, delay: 0.25 }),
        record(w1, 'read', 1, 3, { batch: 0, rows: 4, firstRow: 4, bytes: 100 }),
        record(w1, 'close', 4, 1, { batch: 0, rows: 4, firstRow: 4 }),
      ],
      20: [
        record(loop, 'wait', 0.5, 6, { batch: 0 }),
        record(loop, 'hand', 6.5, 0.5, { batch: 0 }),
        record(loop, 'step', 7, 5, { batch: 0, rows: 8 }),
      ],
    })
    expect(flows.map(flow => flow.map(({ name }) => name))).toEqual([
      ['io.read', 'preprocess.close', 'step'],
      ['io.read', 'preprocess.close', 'step'],
    ])
    expect(slices.filter(({ name }) => name === 'item')).toHaveLength(2)
    expect(slices.find(({ name }) => name === 'fetch')).toMatchObject({ cat: 'dataloader', dur: 6500 })
    expect(slices.find(({ name }) => name === 'preprocess.decode')!.args).toMatchObject({
      feed: 'cats',
      batch: 0,
      rows: 4,
      cpuMs: 2.5,
      delayMs: 0.25,
    })
    expect([...threads.values()].sort()).toEqual(['consumer 0', 'worker 0', 'worker 1'])
    expect(counters.get('bytes read/s/bytes')).toEqual([2000, 0])
    expect(counters.get('batches ready (ring 1)/batches')).toEqual([0, 1, 0])
    expect(instants.sort((a, b) => a.ts - b.ts)).toMatchObject([
      { cat: 'pipeline', name: 'feed', ts: 0, args: { depth: 4, claims: 2, rows: 8, cores: 2 } },
      { cat: 'pipeline', name: 'epoch', ts: 7000, args: { batch: 0, epoch: 0 } },
    ])
  })

  it('has arrows that go from samples to their batch to its step, never back, and to no other', () => {
    const [makers, steps]: SpanRecord[][] = [[], []]
    for (let batch = 0; batch < 6; batch++) {
      const at = 10 * batch
      // Each worker makes half of each batch; they close batches in turns.
      for (const [half, worker] of [w0, w1].entries()) {
        makers.push(record(worker, 'read', at + half, 2, { batch, rows: 4, firstRow: 4 * half }))
        if (half === batch % 2)
          makers.push(record(worker, 'close', at + half + 2, 1, { batch, rows: 4, firstRow: 4 * half }))
      }
      steps.push(record(loop, 'step', at + 12, 5, { batch, rows: 8 })) // while the next batch is made
    }
    const { flows } = traced({ 10: makers, 20: steps })
    expect(flows).toHaveLength(12)
    for (const flow of flows) {
      expect(flow.map(({ name }) => name)).toEqual(['io.read', 'preprocess.close', 'step'])
      expect(new Set(flow.map(({ args }) => args.batch)).size).toBe(1)
      expect(flow.map(({ pid }) => pid)).toEqual([10, 10, 20])
    }
    // One arrow from each half of each batch.
    const from = flows.map(([{ args, tid }]) => `${args.batch}/${tid}`)
    expect(new Set(from).size).toBe(12)
  })

  it('marks epochs where they begin, also of a run that was resumed within one', () => {
    const step = (batch: number, inEpoch: number) =>
      record(loop, 'step', 10 * batch, 5, { batch, rows: 8, firstRow: inEpoch + 1 })
    // Epochs have 4 steps. The run goes on with the third step of one: steps are counted from there.
    const resumed = [1, 1, 0, 1, 2, 3, 0].map((inEpoch, batch) => step(batch, inEpoch))
    const marks = (list: SpanRecord[]) =>
      traced({ 20: list }).instants.map(({ name, args }) => [name, args?.batch, args?.epoch])
    expect(marks(resumed)).toEqual([
      ['epoch', 2, 1],
      ['epoch', 6, 2],
    ])
    const whole = [0, 1, 2, 3, 0].map((inEpoch, batch) => step(batch, inEpoch))
    expect(marks(whole)).toEqual([
      ['epoch', 0, 0],
      ['epoch', 4, 1],
    ])
  })

  it('has all arrows of many batches that are read at once', () => {
    const [makers, steps]: SpanRecord[][] = [[], []]
    for (let batch = 0; batch < 3000; batch++) {
      makers.push(record(w0, 'read', batch / 200, 0.004, { batch, rows: 8 }))
      steps.push(record(loop, 'step', batch / 200 + 0.0045, 0.004, { batch, rows: 8 }))
    }
    const flows = arrowsOf({ 10: makers, 20: steps })
    expect(flows).toBe(3000)
  })

  it('forgets batches that nobody uses', () => {
    const flows = new Flows(() => {})
    const batches = () => [
      ...(flows as unknown as { rings: Map<string, { batches: object }> }).rings.values(),
    ]
    for (let batch = 0; batch < 20_000; batch++) {
      flows.claimed('1/1', batch, { pid: 1, tid: 1, ts: batch })
      if (batch % 500 === 499) flows.settle(false)
    }
    expect((batches()[0].batches as Map<number, unknown>).size).toBeLessThan(4000)
  })

  it('has arrows to the first steps of a feed that was moved, whose batches were made long before', () => {
    const arrows: TraceEvent[] = []
    const flows = new Flows(event => arrows.push(event))
    const at = { pid: 1, tid: 1 }
    const step = (first: number, start: number) =>
      flows.stepped('1/1', { ...at, start, end: start + 10, first, count: 1 })
    flows.claimed('1/1', 7, { ...at, ts: 5 })
    step(7, 100)
    for (let i = 0; i < 3; i++) flows.settle(false)
    flows.claimed('1/1', 0, { ...at, ts: 200 })
    for (let i = 0; i < 5; i++) flows.settle(false)
    step(0, 300)
    flows.settle(true)
    expect(arrows.map(event => event.type === 'flow' && event.ts)).toEqual([5, 105, 200, 305])
  })

  it('marks a feed that is filled in another way where that was seen, not where the read begins', () => {
    const timeline = new Timeline(0, pid => `process ${pid}`, 2)
    const reads = (from: number) =>
      Array.from({ length: 10 }, (_, i) => record(w0, 'read', from + 10 * i, 5, { batch: from + i, rows: 8 }))
    timeline.add(10, reads(0), [{ ...engine, workers: 1 }])
    const before = timeline.take(false)
    timeline.add(10, reads(100), [{ ...engine, workers: 4 }])
    const marks = [...before, ...timeline.take(true)].flatMap(event =>
      event.type === 'instant' && event.name === 'feed' ? [[event.at / 8000, event.args.workers]] : [],
    )
    expect(marks).toEqual([
      [0, 1],
      [195, 4],
    ])
  })

  it('names the ring of the engine, on both sides', () => {
    const { slices } = traced({
      10: [record(w0, 'read', 1, 2, { batch: 0, rows: 8 })],
      20: [record(loop, 'step', 5, 2, { batch: 0 })],
    })
    expect(slices.map(({ name, args }) => [name, args.ring, args.engine])).toEqual([
      ['step', 1, 10],
      ['item', 1, undefined],
      ['io.read', 1, undefined],
    ])
  })

  it('puts claims of a worker that overlap on a track beside, and cuts what rounding laid over each other', () => {
    const { slices, threads } = traced({
      10: [
        record(w0, 'map', 0, 10, { batch: 0, rows: 1 }),
        record(w0, 'map', 2, 10, { batch: 0, rows: 1, firstRow: 1 }),
        record(w0, 'read', 9.99, 5, { batch: 1, rows: 1 }),
        record(w0, 'gc', 10.5, 1),
      ],
    })
    const tracks = new Map(slices.map(({ name, tid }) => [name, threads.get(`10/${tid}`)]))
    expect(tracks.get('io.read')).toBe('worker 0')
    expect(tracks.get('gc')).toBe('worker 0 gc')
    expect([...threads.values()]).toContain('worker 0 (2)')
    expect(slices.filter(({ name }) => name === 'preprocess.map').map(({ dur }) => dur)).toEqual([
      10000, 10000,
    ])
  })

  it('puts the parts of a claim into their order in time', () => {
    const { slices } = traced({
      10: [
        record(w0, 'read', 2, 2, { batch: 0, rows: 1 }),
        record(w0, 'close', 3.99, 1, { batch: 0, rows: 1 }),
        record(w0, 'open', 1, 1, { batch: 0, rows: 1 }),
      ],
    })
    expect(slices.map(({ name, ts, dur }) => [name, ts, dur])).toEqual([
      ['item', 1000, 3990],
      ['io.open', 1000, 1000],
      ['io.read', 2000, 2000],
      ['preprocess.close', 4000, 990],
    ])
  })

  it('puts records that were written by kind into their order in time', () => {
    const { slices, threads } = traced({
      20: [
        record(loop, 'wait', 6, 2, { batch: 1 }),
        record(loop, 'step', 1, 5, { batch: 0 }),
        record(loop, 'hand', 8, 1, { batch: 1 }),
      ],
    })
    expect(threads.size).toBe(1)
    expect(slices.map(({ name, dur }) => [name, dur])).toEqual([
      ['step', 5000],
      ['fetch', 3000],
      ['fetch.wait', 2000],
      ['fetch.hand', 1000],
    ])
  })

  it('leaves no arrow without its end: records are joined, lost, or from before a move', () => {
    const random = mulberry(7)
    const records: SpanRecord[] = []
    const steps: SpanRecord[] = []
    let [made, taken] = [0, 0]
    for (let batch = 0; batch < 200; batch++) {
      for (const worker of [w0, w1]) {
        if (random() < 0.2) continue // lost
        records.push(
          record(worker, 'read', made, 1, {
            batch: batch % 50,
            rows: 4,
            joined: 1 + Math.floor(random() * 4),
          }),
        )
        if (random() < 0.5)
          records.push(record(worker, 'close', made + 1, 0.5, { batch: batch % 50, rows: 4 }))
      }
      made += 1 + random() * 3
      taken = Math.max(taken, made - 2) + random()
      if (random() < 0.2) continue
      steps.push(
        record(loop, 'step', taken, 0.5, { batch: batch % 50, joined: 1 + Math.floor(random() * 3) }),
      )
      taken += 0.5
    }
    const { flows } = traced({ 10: records, 20: steps })
    expect(flows.length).toBeGreaterThan(50)
  })

  it('begins at its base: what lies before is left out, or cut', () => {
    const { slices } = traced(
      { 10: [record(w0, 'read', 1, 2), record(w0, 'read', 4, 2), record(w0, 'idle', 6, 1)] },
      5,
    )
    expect(slices.map(({ name, ts, dur }) => [name, ts, dur])).toEqual([
      ['item', 0, 1000],
      ['io.read', 0, 1000],
      ['idle', 1000, 1000],
    ])
  })
})

/** Random numbers from a seed. */
function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
