/** Accounting: each part by a case whose truth is known, and what holds for any evidence. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { account } from '../../account/account.js'
import { PART_NAMES } from '../../account/parts.js'
import type { Evidence, MakerSlice, Parts, StepTimes } from '../../evidence.js'
import { evidenceOf, sliceOf, stepsLike } from './evidence.js'

function sumOf(parts: Parts): number {
  return PART_NAMES.reduce((sum, name) => sum + parts[name], 0)
}

/** The parts that are there, rounded. */
function shown(parts: Parts): Partial<Parts> {
  const entries = PART_NAMES.map(name => [name, Math.round(parts[name] * 1e6) / 1e6] as const)
  return Object.fromEntries(entries.filter(([, share]) => share > 0))
}

describe('parts of a step', () => {
  test('compute alone is ideal: nothing is lost', () => {
    const { parts, lost, idealFrom, idealMs } = account(evidenceOf(stepsLike(200, { compute: 20 }), []))
    expect(shown(parts)).toEqual({ ideal: 1 })
    expect([lost, idealFrom, idealMs]).toEqual([0, 'upper', 20])
  })

  test('a step that is longer than the ideal one is slowed', () => {
    const probes = { ideal: { ms: 15, from: 'held', steps: 20 } } as const
    const found = account(evidenceOf(stepsLike(200, { compute: 20 }), [], { probes }))
    expect(shown(found.parts)).toEqual({ ideal: 0.75, slowed: 0.25 })
    expect(found.lost).toBeCloseTo(0.25)
    expect(found.idealFrom).toBe('held')
    expect(found.au).toEqual({ dlio: 1, nominal: 0.75 })
  })

  test('hand-over and transfer', () => {
    const found = account(evidenceOf(stepsLike(100, { handOver: 2, transfer: 3, compute: 5 }), []))
    expect(shown(found.parts)).toEqual({ ideal: 0.5, handOver: 0.2, transfer: 0.3 })
    expect(found.wait).toMatchObject({ mean: 2, p50: 2, max: 2, over50us: 1 })
    expect(found.au.dlio).toBeCloseTo(0.5)
  })

  test('an ideal step that is longer than the time between two requests took place within the waits', () => {
    const probes = { ideal: { ms: 8, from: 'given', steps: 100 } } as const
    const steps = stepsLike(100, { handOver: 2, transfer: 7, compute: 1 })
    expect(shown(account(evidenceOf(steps, [], { probes })).parts)).toMatchObject({
      ideal: 0.8,
      transfer: 0.155556,
    })
    const longer = { ideal: { ms: 100, from: 'given', steps: 1 } } as const
    expect(account(evidenceOf(steps, [], { probes: longer })).lost).toBe(0)
  })

  test('supply is what the makers did while the trainer waited, not before or after', () => {
    // 50 ms of waiting in which makers read, then 50 ms of computing in which they decode.
    const steps = stepsLike(40, { supply: 50, compute: 50 })
    const makers = steps.flatMap(({ asked }) => [
      sliceOf({ from: asked, to: asked + 50, work: { read: 50 }, cpu: 10, delay: 5 }),
      sliceOf({ from: asked + 50, to: asked + 100, work: { decode: 50 }, cpu: 50, delay: 0 }),
    ])
    const found = account(evidenceOf(steps, makers))
    expect(shown(found.parts)).toEqual({ ideal: 0.5, running: 0.1, queued: 0.05, blocked: 0.35 })
    expect(found.makers).toMatchObject({ running: 0.6, queued: 0.05, blocked: 0.35, noSlot: 0, from: 'cpu' })
  })

  test('a maker that waits for a slot does so while the trainer computes, as far as that is long enough', () => {
    const steps = stepsLike(40, { supply: 10, compute: 40 })
    const held = steps.map(({ asked }) =>
      sliceOf({ from: asked, to: asked + 50, work: { decode: 20 }, wait: 30, cpu: 20, delay: 0 }),
    )
    expect(shown(account(evidenceOf(steps, held)).parts)).toEqual({ ideal: 0.8, running: 0.2 })
    const starved = held.map(slice => ({
      ...slice,
      work: { ...slice.work, decode: 5 },
      wait: 40,
      idle: 5,
      cpu: 5,
    }))
    expect(shown(account(evidenceOf(steps, starved)).parts)).toEqual({
      ideal: 0.8,
      running: 0.1,
      noSlot: 0.1,
    })
  })

  test('CPU time counts before run delay, where both are more than the work', () => {
    const steps = stepsLike(40, { supply: 50, compute: 50 })
    const makers = steps.map(({ asked }) =>
      sliceOf({ from: asked, to: asked + 100, work: { decode: 40 }, idle: 60, cpu: 30, delay: 50, rows: 1 }),
    )
    const { makers: found } = account(evidenceOf(steps, makers))
    expect([found.running, found.queued, found.blocked]).toEqual([0.3, 0.1, 0])
    expect(found.cpuMsPerSample).toBe(30)
  })

  test('without CPU times opening and reading count as blocked, and it is said', () => {
    const steps = stepsLike(40, { supply: 50, compute: 50 })
    const makers = steps.map(({ asked }) =>
      sliceOf({
        from: asked,
        to: asked + 100,
        work: { open: 10, read: 30, decode: 60 },
        cpu: null,
        delay: null,
      }),
    )
    const found = account(evidenceOf(steps, makers))
    expect(shown(found.parts)).toEqual({ ideal: 0.5, running: 0.3, blocked: 0.2 })
    expect(found.makers).toMatchObject({ from: 'kinds', cpuMsPerSample: null })
    expect(found.io.openShare).toBe(0.25)
  })

  test('where no maker was seen, that is said, and the parts add up all the same', () => {
    const found = account(evidenceOf(stepsLike(40, { supply: 50, compute: 50 }), []))
    expect(shown(found.parts)).toEqual({ ideal: 0.5, noSlot: 0.5 })
    expect(found.makers.from).toBe('none')
  })

  test('times that no clock can tell count as nothing, and times beyond all bounds do no harm', () => {
    const hostile = [0, 5e-324, 1e-310, 1e-160, 1e-20, 1, 1e308, Number.POSITIVE_INFINITY]
    for (const supply of hostile)
      for (const asked of [0, 1e308, Number.POSITIVE_INFINITY])
        for (const work of hostile) {
          const steps = stepsLike(2, { supply, handOver: supply, compute: supply, count: 3 }, asked)
          const makers = [
            sliceOf({ from: 0, to: work, work: { read: work }, wait: supply, cpu: work, delay: 0 }),
          ]
          const found = account(evidenceOf(steps, makers))
          const figures = [found.stepMs, found.idealMs, found.seconds, found.lost, found.samplesPerSecond]
          expect(
            [...figures, ...Object.values(found.parts)].filter(value => !Number.isFinite(value)),
          ).toEqual([])
          expect(sumOf(found.parts)).toBeCloseTo(1, 9)
        }
  })

  test('no steps: nothing is lost', () => {
    const found = account(evidenceOf([], []))
    expect([found.steps, found.lost, sumOf(found.parts), found.intervals]).toEqual([0, 0, 1, null])
  })
})

describe('figures', () => {
  test('percentiles of single steps are exact, those of joined ones weighted', () => {
    const waits = Array.from({ length: 100 }, (_, i) => i + 1)
    const steps = waits.map((supply, i) => stepsLike(1, { supply, compute: 1 }, i * 1000)[0])
    expect(account(evidenceOf(steps, [])).wait).toMatchObject({
      p50: 50,
      p95: 95,
      p99: 99,
      max: 100,
      mean: 50.5,
    })
    const joined = [
      ...stepsLike(1, { supply: 900, compute: 9, count: 90 }),
      ...stepsLike(10, { supply: 100, compute: 1 }, 1000),
    ]
    expect(account(evidenceOf(joined, [])).wait).toMatchObject({ p50: 10, p95: 100, mean: 19 })
  })

  test('a histogram stands in for steps that are joined into one', () => {
    const steps = stepsLike(1, { supply: 1000, compute: 1000, count: 100 })
    const waits: [number, number][] = [
      [0.01, 50],
      [1, 45],
      [200, 5],
    ]
    expect(account(evidenceOf(steps, [], { waits })).wait).toEqual({
      mean: 10,
      p50: 0.01,
      p95: 1,
      p99: 200,
      max: 200,
      over50us: 0.5,
    })
  })

  test('the first batch is told apart, and what begins an epoch is counted', () => {
    const first = { ...stepsLike(1, { supply: 300, compute: 20 })[0], first: true }
    const later = stepsLike(100, { supply: 1, compute: 19 }, 320)
    later[50] = { ...later[50], supply: 100, epochStart: true }
    const evidence = evidenceOf([first, ...later], [])
    const found = account({ ...evidence, facts: { ...evidence.facts, begun: -700 } })
    expect(found.steps).toBe(100)
    expect(found.firstBatchMs).toBe(1000)
    expect(found.epochGapMs).toBe(100)
    expect(found.startUpShare).toBeCloseTo(400 / 499)
    expect(found.wait.mean).toBeCloseTo(1.99)
  })

  test('work per sample, reads and the cache', () => {
    const makers = [
      sliceOf({
        from: 0,
        to: 100,
        cpu: 30,
        delay: 10,
        rows: 10,
        bytes: 1e6,
        reads: 4,
        opens: 2,
        work: { read: 20, decode: 60 },
      }),
    ]
    const cache = { hits: 3, waits: 0, loads: 1 }
    const found = account(evidenceOf(stepsLike(10, { compute: 10 }), makers, { cache }))
    expect(found.makers).toMatchObject({
      stage: 'decode',
      cpuMsPerSample: 3,
      delayMsPerSample: 1,
      blockedMsPerSample: 4,
    })
    expect(found.makers.work).toMatchObject({ read: 2, decode: 6, open: 0 })
    expect(found.io).toMatchObject({
      bytes: 1e6,
      bytesPerSecond: 1e7,
      meanRead: 250000,
      opens: 2,
      cacheHits: 0.75,
    })
  })

  test('intervals hold the truth of steps that vary, and are narrow for steps that do not', () => {
    const steady = account(evidenceOf(stepsLike(400, { handOver: 2, compute: 8 }), []))
    expect(steady.intervals?.handOver.map(share => Math.round(share * 1e9) / 1e9)).toEqual([0.2, 0.2])
    // Waits of 0 … 8 ms, by a generator: their mean is 4.
    let seed = 1
    const next = () => (seed = (seed * 16807) % 2147483647) / 2147483647
    let asked = 0
    const steps = Array.from({ length: 400 }, () => {
      const [step] = stepsLike(1, { handOver: 8 * next(), compute: 6 }, asked)
      asked += step.handOver + step.compute
      return step
    })
    const [low, high] = account(evidenceOf(steps, [])).intervals!.handOver
    expect(low).toBeLessThan(0.4)
    expect(high).toBeGreaterThan(0.4)
    expect(high - low).toBeGreaterThan(0.005)
    expect(high - low).toBeLessThan(0.06)
    expect(account(evidenceOf(steps.slice(0, 19), [])).intervals).toBeNull()
  })
})

const times = fc.oneof(
  fc.constant(0),
  fc.double({ min: 0, max: 1e9, noNaN: true }),
  fc.double({ noNaN: true }),
)
const step: fc.Arbitrary<StepTimes> = fc.record(
  {
    asked: times,
    supply: times,
    handOver: times,
    transfer: times,
    compute: times,
    samples: times,
    count: fc.integer({ min: -1, max: 1000 }),
    first: fc.boolean(),
    epochStart: fc.boolean(),
    gc: times,
  },
  { requiredKeys: ['asked', 'supply', 'handOver', 'transfer', 'compute', 'samples', 'count'] },
)
const work = fc.record({
  open: times,
  read: times,
  decode: times,
  transform: times,
  map: times,
  close: times,
})
const slice: fc.Arbitrary<MakerSlice> = fc.record({
  maker: fc.integer({ min: 0, max: 3 }),
  from: times,
  to: times,
  work,
  wait: times,
  idle: times,
  cpu: fc.option(times),
  delay: fc.option(times),
  gc: times,
  bytes: times,
  rows: times,
  claims: times,
  reads: times,
  opens: times,
})
const ideal = fc.record({
  ms: times,
  from: fc.constantFrom('given' as const, 'held' as const),
  steps: fc.nat(),
})
const anyEvidence: fc.Arbitrary<Evidence> = fc
  .tuple(fc.array(step, { maxLength: 60 }), fc.array(slice, { maxLength: 20 }), fc.option(ideal))
  .map(([steps, makers, ideal]) => evidenceOf(steps, makers, { probes: ideal ? { ideal } : {} }))

describe('any evidence', () => {
  test('gives parts that are not negative and add up to 1, and finite shares', () => {
    fc.assert(
      fc.property(anyEvidence, evidence => {
        const found = account(evidence)
        for (const name of PART_NAMES) expect(found.parts[name]).toBeGreaterThanOrEqual(0)
        expect(Math.abs(sumOf(found.parts) - 1)).toBeLessThan(1e-9)
        expect(found.lost).toBeCloseTo(1 - found.parts.ideal, 9)
        for (const share of [found.startUpShare, found.au.dlio, found.au.nominal, found.wait.over50us]) {
          expect(share).toBeGreaterThanOrEqual(0)
          expect(share).toBeLessThanOrEqual(1 + 1e-9)
        }
        const { running, queued, blocked, noSlot } = found.makers
        const sum = running + queued + blocked + noSlot
        expect(Math.min(Math.abs(sum - 1), Math.abs(sum))).toBeLessThan(1e-9)
        for (const name of found.intervals ? PART_NAMES : []) {
          const [low, high] = found.intervals![name]
          expect(low).toBeGreaterThanOrEqual(0)
          expect(low - 1e-12).toBeLessThanOrEqual(found.parts[name])
          expect(high + 1e-12).toBeGreaterThanOrEqual(found.parts[name])
          expect(high).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  test('a slower clock changes no share', () => {
    const ms = fc.integer({ min: 0, max: 1000 })
    const some = fc.array(fc.tuple(ms, ms, ms, ms), { minLength: 1, maxLength: 60 })
    const slices = fc.array(fc.tuple(ms, ms, ms, ms), { maxLength: 20 })
    fc.assert(
      fc.property(some, slices, fc.integer({ min: 1, max: 20 }), (times, made, power) => {
        const evidence = (factor: number) => {
          let asked = 0
          const steps = times.map(times => {
            const [supply, handOver, transfer, compute] = times.map(time => time * factor)
            const [step] = stepsLike(1, { supply, handOver, transfer, compute }, asked)
            asked += supply + handOver + transfer + compute
            return step
          })
          const makers = made.map((times, i) => {
            const [read, decode, cpu, delay] = times.map(time => time * factor)
            return sliceOf({
              from: i * 1000 * factor,
              to: (i + 1) * 1000 * factor,
              work: { read, decode },
              cpu,
              delay,
            })
          })
          return evidenceOf(steps, makers, {
            probes: { ideal: { ms: 100 * factor, from: 'held', steps: 1 } },
          })
        }
        const [one, other] = [account(evidence(1)), account(evidence(2 ** power))]
        for (const name of PART_NAMES) expect(other.parts[name]).toBeCloseTo(one.parts[name], 9)
        expect(other.lost).toBeCloseTo(one.lost, 9)
        expect(other.makers.running).toBeCloseTo(one.makers.running, 9)
      }),
    )
  })
})
