/** Collecting: from records and counters to evidence. */
import { describe, expect, test } from 'vitest'
import { account } from '../../account/account.js'
import { collect, lookAtMakers, makersBetween } from '../../account/collect.js'
import { type Counters, spansOfLoader } from '../../account/source.js'
import { HOST } from '../verdict/made.js'
import { FakeSpans, laneOf } from './fake-spans.js'

const RING = 3
const FACTS = {
  ring: RING,
  rank: 1,
  world: 2,
  begun: 900,
  workers: 1,
  depth: 4,
  claims: 8,
  rows: 32,
  slotBytes: 4096,
  stepsInEpoch: 10,
}
const trainer = laneOf('consumer', 0)
const maker = laneOf('worker', 0)

/** Steps of 10 ms of supply, 1 of hand-over, 2 of copying, 37 of compute, from 1000 on. */
function loop(spans: FakeSpans, steps: number, begun = 1000, firstBatch = 0): void {
  for (let i = 0; i < steps; i++) {
    const at = begun + i * 50
    const work = { batch: firstBatch + i, rows: 32 }
    spans.add(trainer, 'wait', at, 10, work)
    spans.add(trainer, 'hand', at + 10, 1, work)
    spans.add(trainer, 'copy', at + 11, 2, work)
    spans.add(trainer, 'step', at + 13, 37, work)
  }
}

/** The maker reads 20 ms, decodes 20 and waits for a slot 10, while its CPU time is looked up once. */
function make(spans: FakeSpans, slices: number, begun = 1000): void {
  for (let i = 0; i < slices; i++) {
    const at = begun + i * 50
    const work = { rows: 32, bytes: 1000, joined: 8 }
    spans.add(maker, 'read', at, 20, { ...work, cpu: 22, delay: 4 })
    spans.add(maker, 'decode', at + 20, 20, { ...work, bytes: 0 })
    spans.add(maker, 'wait', at + 40, 10)
  }
}

describe('steps', () => {
  test('a step that was left by break does not leave its waits to another', () => {
    const spans = new FakeSpans(FACTS)
    for (let left = 0; left < 3; left++) {
      loop(spans, 3, 1000 + left * 1000)
      spans.add(trainer, 'wait', 1150 + left * 1000, 500, { batch: 3, rows: 32 })
    }
    spans.add(trainer, 'wait', 4500, 500, { batch: 0, rows: 32 })
    loop(spans, 8, 6000)
    const { steps } = collect(spansOfLoader(spans, RING))
    expect(steps.map(({ supply }) => supply)).toEqual(steps.map(() => 10))
  })

  test('are made of supply, hand-over, copy and compute; the first and those that begin an epoch are marked', () => {
    const spans = new FakeSpans(FACTS)
    loop(spans, 25)
    const { steps, facts, from, to } = collect(spansOfLoader(spans, RING))
    expect(steps).toHaveLength(25)
    expect(steps[3]).toEqual({
      asked: 1150,
      supply: 10,
      handOver: 1,
      transfer: 2,
      compute: 37,
      samples: 32,
      count: 1,
      ready: false,
    })
    expect(steps.flatMap((step, i) => (step.first ? [i] : []))).toEqual([0])
    expect(steps.flatMap((step, i) => (step.epochStart ? [i] : []))).toEqual([10, 20])
    expect([from, to]).toEqual([1000, 2250])
    expect(facts).toMatchObject({ workers: 1, depth: 4, claims: 8, rows: 32, rank: 1, world: 2, begun: 900 })
  })

  test('a loop that says where in its epoch a batch stands is believed', () => {
    const spans = new FakeSpans(FACTS)
    for (const [i, step] of [7, 8, 9, 0, 1].entries())
      for (const kind of ['hand', 'step'])
        spans.add(trainer, kind, 1000 + i * 10, 5, { batch: i, firstRow: step + 1, rows: 1 })
    const { steps } = collect(spansOfLoader(spans, RING))
    expect(steps.map(step => step.epochStart ?? false)).toEqual([false, false, false, true, false])
    expect(steps.map(step => step.first ?? false)).toEqual([true, false, false, false, false])
    expect(steps[1].ready).toBe(true)
  })

  test('of which the oldest are gone have no first one', () => {
    const spans = new FakeSpans(FACTS)
    loop(spans, 5, 1000, 95)
    spans.lost = 12
    const { steps, lost } = collect(spansOfLoader(spans, RING))
    expect(steps.some(step => step.first)).toBe(false)
    expect(lost).toBe(12)
  })

  test('those of a window are whole', () => {
    const spans = new FakeSpans(FACTS)
    loop(spans, 25)
    make(spans, 25)
    const { steps, makers } = collect(spansOfLoader(spans, RING), { from: 1120, to: 1320 })
    expect(steps.map(({ asked }) => asked)).toEqual([1150, 1200, 1250])
    expect(makers.map(({ from, to }) => [from, to])).toEqual([
      ...[
        [1120, 1150],
        [1150, 1200],
        [1200, 1250],
        [1250, 1300],
        [1300, 1320],
      ],
    ])
    expect(makers[0].work.read).toBeCloseTo(12)
  })

  test('joined records are one entry of several steps', () => {
    const spans = new FakeSpans(FACTS)
    spans.add(trainer, 'hand', 1000, 1, { batch: 5, rows: 12, joined: 3 })
    spans.add(trainer, 'step', 1001, 5, { batch: 5, rows: 12, joined: 3 })
    const { steps } = collect(spansOfLoader(spans, RING))
    expect(steps).toEqual([
      { asked: 1000, supply: 0, handOver: 1, transfer: 0, compute: 5, samples: 12, count: 3 },
    ])
  })

  test('the hand-over of joined steps stands after their compute, and is theirs', () => {
    const spans = new FakeSpans(FACTS)
    for (let i = 0; i < 2; i++) {
      const work = { batch: 11 + i * 3, rows: 12, joined: 3 }
      spans.add(trainer, 'wait', 1000 + i * 9, 2, work)
      spans.add(trainer, 'step', 1002 + i * 9, 5, work)
      spans.add(trainer, 'hand', 1007 + i * 9, 1 + i, work)
    }
    expect(collect(spansOfLoader(spans, RING)).steps).toEqual([
      { asked: 1000, supply: 2, handOver: 1, transfer: 0, compute: 5, samples: 12, count: 3 },
      { asked: 1009, supply: 2, handOver: 2, transfer: 0, compute: 5, samples: 12, count: 3 },
    ])
  })

  test('garbage collections count as far as they fell on a wait', () => {
    const spans = new FakeSpans(FACTS)
    loop(spans, 3)
    spans.add(trainer, 'gc', 1055, 4, { ring: 0 })
    spans.add(trainer, 'gc', 1110, 20, { ring: 0 })
    expect(collect(spansOfLoader(spans, RING)).steps.map(step => step.gc)).toEqual([undefined, 4, 3])
  })
})

describe('makers', () => {
  test('a slice goes from one look at CPU time to the next', () => {
    const spans = new FakeSpans(FACTS)
    loop(spans, 10)
    make(spans, 10)
    const { makers } = collect(spansOfLoader(spans, RING))
    expect(makers).toHaveLength(10)
    expect(makers[4]).toMatchObject({
      maker: 0,
      from: 1200,
      to: 1250,
      wait: 10,
      idle: 0,
      cpu: 22,
      delay: 4,
      bytes: 1000,
      rows: 32,
      claims: 8,
      work: { read: 20, decode: 20, open: 0 },
    })
    const found = account(collect(spansOfLoader(spans, RING)))
    expect(found.parts.ideal).toBeCloseTo(0.74)
    expect(found.parts.running).toBeCloseTo(0.2 * (22 / 40))
    expect(found.parts.blocked).toBeCloseTo(0.2 * (14 / 40))
    expect(found.parts.noSlot).toBeCloseTo(0)
  })

  test('CPU time is shared with the other feeds that the maker worked for', () => {
    const spans = new FakeSpans(FACTS)
    spans.add(maker, 'read', 1000, 10, { cpu: 40, delay: 8, rows: 4 })
    spans.add(maker, 'decode', 1010, 30, { ring: 7, rows: 9 })
    const [slice] = collect(spansOfLoader(spans, RING), { from: 0, to: 5000 }).makers
    expect(slice).toMatchObject({ cpu: 10, delay: 2, rows: 4, work: { read: 10, decode: 0 } })
  })

  test('without CPU times there are slices all the same', () => {
    const spans = new FakeSpans(FACTS)
    for (let i = 0; i < 20; i++) spans.add(maker, 'read', 1000 + i * 10, 10, { rows: 4 })
    const { makers } = collect(spansOfLoader(spans, RING), { from: 0, to: 5000 })
    expect(makers.map(({ cpu, work }) => [cpu, work.read])).toEqual([
      ...[
        [null, 50],
        [null, 50],
        [null, 50],
        [null, 50],
      ],
    ])
  })

  test('reads and opens come from the counters, in proportion', () => {
    const spans = new FakeSpans(FACTS)
    loop(spans, 10)
    make(spans, 10)
    spans.counted = [countersOf(1000, { bytes: 100_000, reads: 50, claims: 80, opens: 160 })]
    const { io } = account(collect(spansOfLoader(spans, RING)))
    expect(io).toMatchObject({ bytes: 10_000, meanRead: 2000, opens: 160 })
  })

  test('two looks at the counters make one slice a maker', () => {
    const before = countersOf(1000, { ms: { read: 100, wait: 10 }, bytes: 1, rows: 1 }, { cpu: 50, delay: 5 })
    const now = countersOf(
      2000,
      { ms: { read: 600, wait: 210 }, bytes: 9, rows: 33 },
      { cpu: 250, delay: 55 },
    )
    now.rings.push({ ...now.rings[0], ring: 0, ms: { idle: 40 } })
    const [slice] = makersBetween(RING, { at: 1000, counters: [before] }, { at: 2000, counters: [now] })
    expect(slice).toMatchObject({
      maker: 0,
      from: 1000,
      to: 2000,
      wait: 200,
      idle: 40,
      cpu: 200,
      delay: 50,
      bytes: 8,
      rows: 32,
      work: { read: 500 },
    })
  })

  test('of a maker that begins to work for the ring later, only what came after the first look counts', () => {
    const other = countersOf(1000, { ring: RING + 1, ms: { read: 500 } }, { cpu: 500, delay: 0 })
    const spans = new FakeSpans(FACTS)
    spans.counted = [other]
    const before = lookAtMakers(spansOfLoader(spans, RING), 1000)
    const now = countersOf(2000, { ms: { read: 900 } }, { cpu: 600, delay: 10 })
    now.rings.push(other.rings[0])
    spans.counted = [now, { ...other, lane: { ...maker, lane: 9 } }]
    const slices = makersBetween(RING, before, lookAtMakers(spansOfLoader(spans, RING), 2000))
    expect(slices).toMatchObject([{ work: { read: 900 }, cpu: 100, delay: 10 }])
  })

  test('one that wrote nothing between two looks has no slice', () => {
    const asleep = countersOf(900, { ms: { read: 100, wait: 10 } }, { cpu: 50, delay: 5 })
    const looks = [1000, 2000].map(at => ({ at, counters: [asleep] }))
    expect(makersBetween(RING, looks[0], looks[1])).toEqual([])
  })

  test('a slice ends where a maker wrote nothing for long: it was surplus', () => {
    const spans = new FakeSpans(FACTS)
    spans.add(maker, 'read', 1000, 20, { rows: 4, cpu: 15, delay: 0 })
    spans.add(maker, 'decode', 1020, 20, { rows: 4 })
    spans.add(maker, 'wait', 1040, 5)
    spans.add(maker, 'read', 5000, 20, { rows: 4 })
    spans.add(maker, 'read', 5020, 20, { rows: 4, cpu: 15, delay: 0 })
    const { makers } = collect(spansOfLoader(spans, RING), { from: 0, to: 9000 })
    expect(makers.map(({ from, to }) => [from, to])).toEqual([
      [1000, 1045],
      [5000, 5040],
    ])
    // Also where its CPU time was not looked up before.
    spans.records[0].cpu = Number.NaN
    expect(collect(spansOfLoader(spans, RING), { from: 0, to: 9000 }).makers).toHaveLength(2)
  })

  test('CPU time that was not looked up between two looks is not known', () => {
    const before = countersOf(1000, { ms: { read: 100 } }, { cpu: 50, delay: 5 })
    const now = countersOf(1040, { ms: { read: 140 } }, { cpu: 50, delay: 5, at: 1000 })
    const slices = makersBetween(RING, { at: 1000, counters: [before] }, { at: 1040, counters: [now] })
    expect(slices).toMatchObject([{ work: { read: 40 }, cpu: null, delay: null }])
  })
})

function countersOf(at: number, ring: Partial<Counters['rings'][0]>, own: Partial<Counters> = {}): Counters {
  return {
    lane: maker,
    cpu: Number.NaN,
    delay: Number.NaN,
    gc: 0,
    at,
    rings: [{ ring: RING, ms: {}, bytes: 0, rows: 0, claims: 0, reads: 0, opens: 0, at, ...ring }],
    ...own,
  }
}

describe('claims', () => {
  test('each with all kinds of its work; those that were written together share it', () => {
    const spans = new FakeSpans(FACTS)
    const other = laneOf('worker', 1)
    spans.add(maker, 'read', 1000, 1, { rows: 4 })
    spans.add(other, 'map', 1000.5, 50, { rows: 4 }) // between two records of the first
    spans.add(maker, 'map', 1001, 5, { rows: 4 })
    spans.add(maker, 'wait', 1006, 3)
    spans.add(maker, 'read', 1009, 2, { rows: 8, joined: 2 })
    spans.add(maker, 'map', 1011, 8, { rows: 8, joined: 2 })
    spans.add(maker, 'read', 5000, 1, { rows: 4 }) // after the window
    const { claims } = collect(spansOfLoader(spans, RING), { from: 1000, to: 2000 })
    expect(claims).toEqual([
      { ms: 6, rows: 4 },
      { ms: 50, rows: 4 },
      { ms: 5, rows: 4 },
      { ms: 5, rows: 4 },
    ])
  })

  test('no more than some thousand, the latest', () => {
    const spans = new FakeSpans(FACTS)
    for (let i = 0; i < 5000; i++) spans.add(maker, 'read', i, 0.5, { rows: i })
    const { claims = [] } = collect(spansOfLoader(spans, RING), { from: 0, to: 6000 })
    expect(claims).toHaveLength(4000)
    expect(claims.at(-1)?.rows).toBe(4999)
  })
})

test('cores are those that the machine’s signals allow', () => {
  const spans = new FakeSpans(FACTS)
  loop(spans, 3)
  const host = { ...HOST, allowed: 1.5 }
  expect(collect(spansOfLoader(spans, RING), { host }).facts.cores).toBe(1.5)
  expect(collect(spansOfLoader(spans, RING), { host, facts: { cores: 3 } }).facts.cores).toBe(3)
})
