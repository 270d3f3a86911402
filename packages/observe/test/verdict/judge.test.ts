/** Every verdict from a window that gives it, and beside it a neighbour that must not. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { simulate } from '../../../../test/support/simulated/simulate.js'
import { account } from '../../account/account.js'
import { PART_NAMES } from '../../account/parts.js'
import type { Accounting, Diagnosis, Evidence, Parts, VerdictName } from '../../evidence.js'
import { judge } from '../../verdict/judge.js'
import { bestFirst } from '../../verdict/remedies.js'
import { gain } from '../../verdict/units.js'
import { epochLine, explain, progressLine, sentence } from '../../verdict/words.js'
import { HOST, type Made, made } from './made.js'

const SLOW = { supply: 10 }
const FULL = { idleCores: 0, engineCores: 4 }
const doubled = (gain: number) => ({
  doubled: {
    workers: 2,
    doubledWorkers: 4,
    before: [1000, 1010],
    after: [1000 * (1 + gain), 1010 * (1 + gain)],
  },
})
const READS: Made = { step: SLOW, running: 0.05, blocked: 0.93, work: { read: 9, decode: 1 } }
const RAM = { absent: { share: 0.8, rows: 100 } }
const facts = (e: Evidence, more: Partial<Evidence['facts']>): Evidence => ({
  ...e,
  facts: { ...e.facts, ...more },
})
const ideal = (ms: number, from: 'given' | 'held' = 'held') => ({ ideal: { ms, from, steps: 50 } })
const gpu = (smActive: number | null, hasWork: number | null = 1) => ({
  gpu: { name: 'H200', hasWork, smActive, memoryBytes: null, watts: null },
})

/** What is seen, the verdict, and how it is made. */
const CASES: [string, VerdictName, Evidence][] = [
  ['no waiting', 'compute-bound', made({ running: 0.3 })],
  ['waiting for 2 % of a step', 'compute-bound', made({ step: { supply: 0.4 }, running: 0.98 })],
  ['waiting for 4 % of a step', 'under-parallel', made({ step: { supply: 0.85 }, running: 0.98 })],
  ['few multiprocessors active', 'launch-bound', made({ running: 0.3, host: gpu(0.2) })],
  ['many multiprocessors active', 'compute-bound', made({ running: 0.3, host: gpu(0.5) })],
  ['a GPU that this trainer does not use', 'compute-bound', made({ running: 0.3, host: gpu(0, 0) })],
  ['a longer step beside workers', 'crowding-trainer', made({ running: 0.5, more: { probes: ideal(17) } })],
  [
    'a longer step than the one given',
    'slowed',
    made({ running: 0.5, more: { probes: ideal(17, 'given') } }),
  ],
  [
    'a longer step than the one given, under a quota',
    'cpu-saturated',
    made({ running: 0.5, host: { throttled: 0.4 }, more: { probes: ideal(17, 'given') } }),
  ],
  [
    'a step that workers do not change',
    'compute-bound',
    made({ running: 0.5, more: { probes: ideal(19.8) } }),
  ],
  [
    'few held steps, of a trainer whose steps drift',
    'compute-bound',
    drifting(made({ running: 0.3, more: { probes: { ideal: { ms: 18.5, from: 'held', steps: 4 } } } })),
  ],
  [
    'few held steps, of a trainer whose steps are alike',
    'crowding-trainer',
    made({ running: 0.3, more: { probes: { ideal: { ms: 18.5, from: 'held', steps: 4 } } } }),
  ],
  [
    'batches that are taken slowly by a thread without a core',
    'crowding-trainer',
    made({ workers: 8, step: { handOver: 4 }, host: { ...FULL, trainerDelay: 0.15 } }),
  ],
  [
    'the same, and others have the cores',
    'crowded-host',
    made({
      step: { handOver: 4 },
      host: { engineCores: 0.5, otherCores: 3, idleCores: 0, trainerDelay: 0.15 },
    }),
  ],
  [
    'the same, and a quota stops it',
    'cpu-saturated',
    made({ step: { handOver: 4 }, host: { ...FULL, throttled: 0.3, trainerDelay: 0.15 } }),
  ],
  [
    'batches that are taken slowly by a thread that has its core',
    'hand-over',
    made({ workers: 8, step: { handOver: 4 }, host: { ...FULL, trainerDelay: 0.02 } }),
  ],
  [
    'more workers than cores, which would do, in the way of the trainer',
    'crowding-trainer',
    made({
      workers: 8,
      step: { supply: 3 },
      running: 0.1,
      queued: 0.4,
      host: { ...FULL, trainerDelay: 0.1 },
    }),
  ],
  ['batches that are taken slowly', 'hand-over', made({ step: { handOver: 4 } })],
  ['batches that are taken quickly', 'compute-bound', made({ step: { handOver: 0.3 } })],
  ['a copy that is waited for', 'transfer-bound', made({ step: { transfer: 4 } })],
  ['a copy beside the step', 'compute-bound', made({ step: { transfer: 0.3 } })],
  ['waits when epochs begin', 'start-up', atEpochs(made({ running: 0.98, step: { supply: 0.2 } }), 300)],
  [
    'waits when epochs begin, and more elsewhere',
    'under-parallel',
    atEpochs(made({ running: 0.98, step: SLOW }), 300),
  ],
  [
    'reads that gain nothing from company',
    'storage-bandwidth',
    made({ ...READS, more: { probes: doubled(0.02) } }),
  ],
  [
    'the same, at the first time',
    'cache-warm-up',
    facts(made({ ...READS, more: { probes: { ...doubled(0.02), ...RAM } } }), {
      sourceBytes: 1e9,
      freeBytes: 1e10,
    }),
  ],
  [
    'the same, more than memory holds',
    'storage-bandwidth',
    facts(made({ ...READS, more: { probes: { ...doubled(0.02), ...RAM } } }), {
      sourceBytes: 1e11,
      freeBytes: 1e10,
    }),
  ],
  ['reads that gain from company', 'io-latency', made({ ...READS, more: { probes: doubled(0.4) } })],
  [
    'a small gain that is all there is',
    'io-latency',
    made({ ...READS, step: { supply: 1.2 }, more: { probes: doubled(0.05) } }),
  ],
  ['reads that were not tried', 'blocked', made(READS)],
  [
    'files that take long to open',
    'small-files',
    made({ ...READS, work: { open: 6, read: 3, decode: 1 }, more: { probes: doubled(0.6) } }),
  ],
  [
    'files that open quickly',
    'io-latency',
    made({ ...READS, work: { open: 2, read: 7, decode: 1 }, more: { probes: doubled(0.6) } }),
  ],
  [
    'no function, and work that neither runs nor reads',
    'blocked',
    made({ ...READS, work: { transform: 1 } }),
  ],
  ['a function that sleeps', 'your-function', made({ ...READS, work: { map: 9, decode: 1 } })],
  [
    'a function that computes in a process of its own',
    'under-parallel',
    made({ ...READS, work: { map: 9, decode: 1 }, host: { engineCores: 1.9, idleCores: 2 } }),
  ],
  [
    'the same, with no core left',
    'cpu-saturated',
    made({ ...READS, workers: 4, work: { map: 9, decode: 1 }, host: { engineCores: 3.8, idleCores: 0 } }),
  ],
  [
    'a function that runs, and slow reads',
    'blocked',
    made({ ...READS, running: 0.4, blocked: 0.6, work: { read: 6, map: 4 } }),
  ],
  ['workers that always run, cores free', 'under-parallel', made({ step: SLOW, running: 0.98 })],
  [
    'workers that always run, cores full',
    'cpu-saturated',
    made({ step: SLOW, running: 0.98, cores: 2, host: { ...FULL, allowed: 2, engineCores: 2 } }),
  ],
  ['no workers', 'under-parallel', made({ workers: 0, step: SLOW, running: 0.33 })],
  [
    'workers that queue, nobody else there',
    'cpu-saturated',
    made({ workers: 8, step: SLOW, running: 0.5, queued: 0.48, host: FULL }),
  ],
  [
    'workers that queue behind others',
    'crowded-host',
    made({
      workers: 4,
      step: SLOW,
      running: 0.5,
      queued: 0.48,
      host: { idleCores: 0, engineCores: 2, otherCores: 2 },
    }),
  ],
  [
    'one worker that has its core, others on the rest',
    'running',
    made({
      workers: 1,
      step: SLOW,
      running: 0.9,
      queued: 0.08,
      host: { idleCores: 0.1, engineCores: 0.9, otherCores: 3 },
    }),
  ],
  [
    'workers stopped by a quota',
    'cpu-saturated',
    made({
      workers: 4,
      step: SLOW,
      running: 0.5,
      queued: 0.48,
      host: { idleCores: 0, engineCores: 2, otherCores: 2, throttled: 0.4 },
    }),
  ],
  [
    'slow samples now and then',
    'variance',
    simulate({
      workers: 3,
      depth: 4,
      claims: 4,
      rows: 16,
      cores: 4,
      cpu: 0.3,
      blocked: 0,
      step: 4,
      slowShare: 0.004,
      slowBy: 200,
      steps: 400,
      seed: 3,
    }),
  ],
  [
    'the same without them',
    'compute-bound',
    simulate({
      workers: 3,
      depth: 4,
      claims: 4,
      rows: 16,
      cores: 4,
      cpu: 0.3,
      blocked: 0,
      step: 4,
      steps: 400,
    }),
  ],
  [
    'a rank that is slower',
    'straggler',
    {
      ...made({ step: SLOW, running: 0.6, queued: 0.1, blocked: 0.28 }),
      ranks: [rank(0, 900), rank(1, 400)],
    },
  ],
  [
    'a rank that waits for a slower one in its own work',
    'straggler',
    { ...made({ running: 0.3 }), ranks: [rank(0, 900), rank(1, 400)] },
  ],
  [
    'a slower rank that no one waits for',
    'compute-bound',
    { ...made({ running: 0.3 }), ranks: [rank(0, 900), { ...rank(1, 400), supplyMs: 0.1 }] },
  ],
  [
    'ranks that are alike',
    'running',
    {
      ...made({ step: SLOW, running: 0.6, queued: 0.1, blocked: 0.28 }),
      ranks: [rank(0, 900), rank(1, 800)],
    },
  ],
  [
    'waiting for memory',
    'memory-pressure',
    made({ ...READS, host: { psi: { cpu: 0, io: 0.1, memory: 0.2 } }, more: { probes: doubled(0.02) } }),
  ],
  [
    'the same, of other programs on the machine',
    'storage-bandwidth',
    made({
      ...READS,
      host: { psi: { cpu: 0, io: 0.1, memory: 0.2 }, refaultBytes: 60_000, memoryLimitBytes: 25e9 },
      more: { probes: doubled(0.02) },
    }),
  ],
  [
    'memory that is nearly used up',
    'memory-pressure',
    made({
      ...READS,
      host: { psi: { cpu: 0, io: 0.1, memory: 0.2 }, refaultBytes: 0, memoryLimitBytes: 1.1e9 },
      more: { probes: doubled(0.02) },
    }),
  ],
  [
    'waiting for the disk, a little for memory',
    'storage-bandwidth',
    made({ ...READS, host: { psi: { cpu: 0, io: 0.6, memory: 0.06 } }, more: { probes: doubled(0.02) } }),
  ],
  ['collecting garbage', 'runtime-pause', made({ step: SLOW, running: 0.98, gc: 0.6 })],
  ['a first batch that comes late', 'start-up', lateStart(made({ running: 0.3 }), 3000)],
  ['an ordinary start', 'compute-bound', lateStart(made({ running: 0.3 }), 1500)],
  [
    'a start of which the sources took most',
    'start-up',
    facts(lateStart(made({ running: 0.3 }), 1500), { start: { opening: 1000, making: 20 } }),
  ],
  [
    'a start of which a first call took most',
    'start-up',
    facts(lateStart(made({ running: 0.3 }), 1500), { start: { opening: 10, making: 1000 } }),
  ],
  [
    'a long start of threads and code',
    'compute-bound',
    facts(lateStart(made({ running: 0.3 }), 3000), { start: { opening: 100, making: 100 } }),
  ],
  [
    'an ordinary start, and waits',
    'under-parallel',
    lateStart(made({ running: 0.98, step: { supply: 1 } }), 600),
  ],
  [
    'files opened from memory',
    'small-files',
    made({
      step: SLOW,
      running: 0.98,
      work: { open: 6, read: 3, decode: 1 },
      cores: 2,
      host: { ...FULL, allowed: 2 },
    }),
  ],
  ['a loss that is not certain', 'compute-bound', spread(made({ running: 0.98, step: { supply: 0.8 } }))],
  ['a trainer that stops', 'inconclusive', { ...made({ running: 0.3 }), silentMs: 3000 }],
  ['a trainer whose last step goes on', 'compute-bound', { ...made({ running: 0.3 }), silentMs: 150 }],
  ['much that is lost, perhaps', 'inconclusive', spread(made({ running: 0.98, step: { supply: 4 } }))],
  [
    'collecting garbage while there is no slot to fill',
    'variance',
    made({ step: SLOW, running: 0.04, gc: 0.06 }),
  ],
  ['collecting some garbage', 'under-parallel', made({ step: SLOW, running: 0.98, gc: 0.1 })],
  ['few steps', 'inconclusive', made({ steps: 99, step: SLOW, running: 0.98 })],
  ['two parts alike', 'inconclusive', uneven(made({ step: { supply: 5, handOver: 5 }, running: 0.98 }))],
  [
    'a slower rank, whatever its makers did',
    'straggler',
    {
      ...uneven(made({ step: { supply: 10 }, running: 0.5, blocked: 0.48 })),
      ranks: [rank(0, 900), rank(1, 400)],
    },
  ],
  [
    'two parts, one larger',
    'under-parallel',
    uneven(made({ step: { supply: 12, handOver: 3 }, running: 0.98 })),
  ],
]

test('one step is told as one', () => {
  expect(judge(made({ steps: 1, step: SLOW })).evidence[0]).toMatch(/^only 1 step was seen;/)
  expect(judge(made({ steps: 2, step: SLOW })).evidence[0]).toMatch(/^only 2 steps were seen;/)
})

describe('a window is named', () => {
  test.each(CASES)('%s: %s', (_, verdict, e) => {
    const d = judge(e)
    expect(d.verdict, explain(d)).toBe(verdict)
    sound(d)
  })

  test('every verdict that has a test is among them', () => {
    const all = new Set(CASES.map(([, verdict]) => verdict))
    expect(all.size).toBeGreaterThanOrEqual(21)
  })
})

describe('two causes', () => {
  test('the smaller is named second', () => {
    const d = judge(made({ step: { supply: 10, handOver: 3 }, running: 0.98 }))
    expect([d.verdict, d.second]).toEqual(['under-parallel', 'hand-over'])
    expect(d.remedies.length).toBeGreaterThan(1)
  })

  test('among workers: what would be named if the first were gone', () => {
    const d = judge(
      made({
        step: SLOW,
        running: 0.34,
        blocked: 0.64,
        work: { read: 7, decode: 3 },
        more: { probes: doubled(0.4) },
      }),
    )
    expect([d.verdict, d.second]).toEqual(['io-latency', 'under-parallel'])
  })

  test('a late start beside it', () => {
    const d = judge(lateStart(made({ ...READS, work: { map: 9, decode: 1 } }), 2000))
    expect([d.verdict, d.second]).toEqual(['your-function', 'start-up'])
    const later = judge(lateStart(made({ ...READS, work: { map: 9, decode: 1 } }), 4000))
    expect([later.verdict, later.second]).toEqual(['start-up', 'your-function'])
  })

  test('one worker that waits for storage and decodes slowly', () => {
    const e = made({
      workers: 1,
      step: SLOW,
      running: 0.38,
      blocked: 0.6,
      work: { read: 6, decode: 4 },
      more: { probes: doubled(0.6) },
    })
    const d = judge(e)
    expect([d.verdict, d.second]).toEqual(['io-latency', 'under-parallel'])
  })

  test('one cause alone has no second', () => {
    expect(judge(made({ step: SLOW, running: 0.98 })).second).toBeNull()
  })
})

describe('remedies', () => {
  test('the fewest workers that keep up', () => {
    const d = judge(made({ step: SLOW, running: 0.98 }))
    expect(d.remedies[0]).toMatchObject({ set: { workers: 3 }, command: '--workers 3' })
    expect(d.remedies[0].action).toContain('loader.tune(workers=3)')
    expect(d.remedies[0].predictedGain).toBeCloseTo(0.5, 1)
    expect(d.ceiling).toBeCloseTo(0.5, 1)
  })

  test('no more workers where cores are full', () => {
    for (const [, , e] of CASES.filter(([, verdict]) => verdict === 'cpu-saturated'))
      expect(judge(e).remedies.filter(({ set }) => set?.workers !== undefined)).toEqual([])
  })

  test('no more workers where they queue, though some of them wait, too', () => {
    const host = { idleCores: 0.1, engineCores: 0.4, trainerCores: 2.5, allowed: 3 }
    const d = judge(
      made({
        workers: 3,
        cores: 3,
        step: SLOW,
        running: 0.14,
        queued: 0.52,
        blocked: 0.34,
        work: { map: 9, decode: 1 },
        host,
      }),
    )
    expect(d.verdict).toBe('cpu-saturated')
    expect(d.remedies.filter(({ set }) => set?.workers !== undefined)).toEqual([])
  })

  test('a loader of others is told in its own words, and is not set', () => {
    const [first] = judge(
      facts(made({ step: SLOW, running: 0.98 }), { foreign: 'torch.utils.data.DataLoader' }),
    ).remedies
    expect(first.action).toContain('num_workers=3')
    expect(first.set).toBeUndefined()
  })

  test('a late start is not advised what is so already', () => {
    const said = (e: Evidence, more: Partial<Evidence['facts']> = {}) =>
      judge(facts(e, more))
        .remedies.map(({ action }) => action)
        .join('\n')
    const late = lateStart(made({ running: 0.3 }), 3000)
    const epochs = atEpochs(made({ running: 0.98, step: { supply: 0.2 } }), 300)
    expect(said(late)).toMatch(/^Open the feed once for all epochs/)
    expect(said(epochs)).not.toContain('for all epochs') // it is open for several
    const start = { opening: 2000, making: 20 }
    expect(said(late, { start })).not.toContain('millrace index')
    expect(said(late, { start: { ...start, indexes: 3 } })).toContain('millrace index PATH')
    const foreign = 'torch.utils.data.DataLoader'
    expect(said(late, { foreign })).toBe('')
    expect(said(epochs, { foreign })).toContain('persistent_workers=True')
    expect(said(epochs, { foreign, persistent: true })).not.toContain('persistent_workers')
  })

  test('a loader of others is given no option of ours', () => {
    const full = { psi: { cpu: 0, io: 0.1, memory: 0.2 }, refaultBytes: 0, memoryLimitBytes: 1.1e9 }
    const short = made({ ...READS, host: full, more: { probes: doubled(0.02) } })
    for (const e of [made({ step: { handOver: 4 } }), made({ step: { transfer: 4 } }), short]) {
      const { remedies } = judge(facts(e, { foreign: 'torch.utils.data.DataLoader' }))
      expect(remedies.length).toBeGreaterThan(0)
      for (const { action, command = '' } of remedies)
        expect(`${action} ${command}`).not.toMatch(/device=|--depth|--cache|epochs=|Millrace/)
    }
  })

  test('a loop of few steps is not told of workers without a slot', () => {
    const d = judge(made({ steps: 10, running: 0, step: { supply: 20, compute: 0.1 } }))
    expect([d.verdict, d.second]).toEqual(['inconclusive', null])
  })

  test('a loader without workers, or with few, is advised to have as many as it takes', () => {
    const slow = { supply: 80, compute: 10 }
    const host = { allowed: 16, idleCores: 12 }
    const of = (workers: number, running: number) => {
      const window = made({ workers, cores: 16, claims: 1, step: slow, running, host })
      return judge(facts(window, { foreign: 'torch.utils.data.DataLoader', depth: Math.max(1, 2 * workers) }))
        .remedies[0]
    }
    // 80 ms of work for each batch: one worker, or the loop itself, takes eight times too long.
    for (const [workers, running] of [
      [0, 80 / 90],
      [1, 1],
    ]) {
      const { command, predictedGain } = of(workers, running)
      expect(Number(/^num_workers=(\d+)$/.exec(command ?? '')?.[1])).toBeGreaterThanOrEqual(8)
      expect(predictedGain).toBeGreaterThan(5)
    }
  })

  test('a larger batch is predicted from two sizes, or not at all', () => {
    const bound = (probes: Evidence['probes']) =>
      judge(made({ running: 0.3, host: gpu(0.1), more: { probes } })).remedies[0]
    expect(bound({})).toMatchObject({ predictedGain: null })
    expect(bound({ otherBatch: { rows: 64, stepMs: 25 } }).predictedGain).toBeCloseTo(0.6, 1)
  })

  test('depth 1: batches are made ahead', () => {
    const d = judge(
      simulate({
        workers: 4,
        depth: 1,
        claims: 4,
        rows: 16,
        cores: 8,
        cpu: 1,
        blocked: 0,
        step: 6,
        steps: 200,
      }),
    )
    expect(d.verdict).toBe('under-parallel')
    expect(d.remedies[0]).toMatchObject({ set: { depth: 2 } })
    expect(d.remedies[0].predictedGain).toBeGreaterThan(0.3)
  })

  test('no workers and depth 1: workers, and batches made ahead', () => {
    const [first] = judge(made({ workers: 0, depth: 1, step: { supply: 20 }, running: 0.5 })).remedies
    expect(first).toMatchObject({ set: { workers: 1, depth: 2 }, command: '--workers 1 --depth 2' })
    expect(first.predictedGain).toBeGreaterThan(0.8)
  })

  test('depth 1: also where cores are lacking', () => {
    const full = { step: { supply: 30 }, running: 0.5, queued: 0.45, depth: 1 }
    const busy = judge(made({ ...full, host: FULL }))
    expect(busy.verdict).toBe('cpu-saturated')
    const crowded = judge(made({ ...full, host: { idleCores: 0, engineCores: 1, otherCores: 3 } }))
    expect(crowded.verdict).toBe('crowded-host')
    for (const { remedies } of [busy, crowded])
      expect(remedies.find(({ set }) => set?.depth === 2)?.predictedGain).toBeGreaterThan(0.03)
  })

  test('one worker beside others: what it does can be made faster', () => {
    const e = made({
      workers: 1,
      step: SLOW,
      running: 0.9,
      queued: 0.08,
      work: { map: 9, decode: 1 },
      host: { idleCores: 0.1, engineCores: 0.9, otherCores: 3 },
    })
    const { verdict, second, remedies } = judge(e)
    expect([verdict, second]).toEqual(['running', 'crowded-host'])
    expect(remedies.map(({ action }) => action).join()).toMatch(/your function twice as fast/)
  })

  test('a function in a process of its own: no more workers than it has cores', () => {
    const [, , e] = CASES.find(([name]) => name.startsWith('a function that computes'))!
    const more = judge(e).remedies.find(({ set }) => set?.workers !== undefined)
    expect(more?.set?.workers).toBeLessThanOrEqual(5)
    expect(more?.predictedGain).toBeGreaterThan(0.3)
  })

  test('slow samples: more depth, with what it takes of memory', () => {
    const [, , e] = CASES.find(([, verdict]) => verdict === 'variance')!
    const deeper = judge(e).remedies.find(({ set }) => set?.depth !== undefined)
    expect(deeper?.predictedGain).toBeGreaterThan(0.03)
    expect(deeper?.warning).toContain('memory')
    expect(judge(facts(e, { freeBytes: 1e6 })).remedies.filter(({ set }) => set?.depth)).toEqual([])
  })
})

describe('gains that are not certain', () => {
  test('are told in words', () => {
    expect(gain(0.38, [0.3, 0.46])).toBe('+38 % (±8)')
    expect(gain(0.38, null)).toBe('+38 %')
    expect(gain(2.76, [0.8, 6.2])).toBe('at least +80 %, perhaps +276 %')
    expect(gain(0.1, [-0.05, 0.27])).toBe('gain not certain, perhaps +10 %')
  })

  test('stand behind those that are', () => {
    const one = (predictedGain: number | null, interval: [number, number] | null) => ({
      action: String(predictedGain),
      predictedGain,
      interval,
    })
    const all = [one(0.1, [0.05, 0.15]), one(null, null), one(3, [-0.5, 9]), one(0.3, [0.2, 0.4])]
    expect(all.sort(bestFirst).map(({ action }) => action)).toEqual(['0.3', '0.1', '3', 'null'])
  })
})

describe('words', () => {
  test('one line says why and what to do', () => {
    const line = sentence(judge(made({ step: SLOW, running: 0.98 })))
    expect(line).toMatch(
      /^Your trainer loses 33 %: 2 workers can't decode fast enough, and cores are free\. 3 workers: \+(4[89]|50) % \(±\d+\)\.$/,
    )
    expect(sentence(judge(made({ running: 0.3 })))).toMatch(
      /^The trainer is the limit: the data costs it 0\.1 %\.$/,
    )
    const uncertain = judge(spread(made({ running: 0.98, step: { supply: 0.8 } })))
    expect(uncertain.verdict).toBe('compute-bound')
    expect(sentence(uncertain)).toMatch(/^The trainer seems to be the limit: .* may be nothing\.$/)
  })

  test('copies that the trainer waits for gain what they take, and no more than workers can make', () => {
    const { remedies } = judge(made({ step: { transfer: 4 } }))
    const [copy] = remedies.filter(({ action }) => action.startsWith('Let Millrace copy ahead'))
    expect(copy.predictedGain).toBeGreaterThan(0.1)
    expect(copy.predictedGain).toBeLessThan(0.21)
  })

  test('a remedy without a gain says what it changes', () => {
    const d = judge(made({ running: 0.05, more: { probes: ideal(17) } }))
    expect(d.remedies[0]).toMatchObject({ set: { workers: 1 }, predictedGain: null })
    expect(sentence(d)).toMatch(/ 1 worker in place of 2\.$/)
  })

  test('a step beside workers: how many steps tell it', () => {
    const probes = (steps: number) => ({ ...ideal(17), atWork: { ms: 25, steps } })
    const text = (steps: number) => explain(judge(made({ running: 0.5, more: { probes: probes(steps) } })))
    expect(text(1)).toContain('25 ms with workers at work (1 step whose batch was at hand), 17 ms without')
    expect(text(120)).toContain('(120 steps whose batch was at hand)')
  })

  test('the numbers that decided stand below', () => {
    const text = explain(judge(made({ step: SLOW, running: 0.98 })))
    expect(text).toContain('of 4 cores, 2 were idle')
    expect(text).toMatch(/workers ran 9[78] % of the whole time/)
    expect(text).toContain('ceiling   +50 %')
  })

  test('without a trainer the feed alone is judged', () => {
    const d = judge(made({ step: { supply: 20, compute: 0, handOver: 0 }, running: 0.98 }))
    expect(d).toMatchObject({ verdict: 'under-parallel', ceiling: null })
    expect(sentence(d)).toMatch(/^The feed alone, without a trainer: /)
  })

  test('a late start is no loss of each step', () => {
    expect(sentence(judge(lateStart(made({ running: 0.3 }), 3000)))).toMatch(/^Your trainer begins late: /)
  })

  test('what is not known is said', () => {
    const e = made({ step: SLOW, running: 0.98, host: null })
    const blind = { ...e, makers: e.makers.map(slice => ({ ...slice, cpu: null, delay: null })) }
    const text = explain(judge(blind))
    expect(text).toContain('the machine was not looked at')
    expect(text).toContain('no CPU time')
    expect(text).toContain("give a step's own time")
  })
})

// Times below a picosecond are none.
const amount = fc
  .oneof(
    fc.constant(0),
    fc.double({ min: 0, max: 1e6, noNaN: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  )
  .map(value => (value < 1e-9 ? 0 : value))
const count = fc.integer({ min: 0, max: 300 })

test('any window is judged, with finite numbers', () => {
  const step = fc.record({
    asked: amount,
    supply: amount,
    handOver: amount,
    transfer: amount,
    compute: amount,
    samples: count,
    count,
    first: fc.boolean(),
    gc: amount,
  })
  const work = fc.record({
    open: amount,
    read: amount,
    decode: amount,
    transform: amount,
    map: amount,
    close: amount,
  })
  const times = fc.option(amount)
  const slice = fc.record({
    maker: count,
    from: amount,
    to: amount,
    work,
    wait: amount,
    idle: amount,
    cpu: times,
    delay: times,
    gc: amount,
    bytes: amount,
    rows: count,
    claims: count,
    reads: count,
    opens: count,
  })
  const some = fc.record({
    workers: count,
    depth: count,
    claims: count,
    rows: count,
    slotBytes: amount,
    rank: count,
    world: count,
    cores: amount,
  })
  const host = fc.option(
    fc.record({
      allowed: amount,
      idleCores: amount,
      engineCores: amount,
      trainerCores: amount,
      otherCores: amount,
      throttled: times,
    }),
  )
  const probes = fc.record(
    {
      ideal: fc.option(
        fc.record({
          ms: amount,
          from: fc.constantFrom('given' as const, 'held' as const, 'upper' as const),
          steps: count,
        }),
        { nil: undefined },
      ),
      doubled: fc.option(
        fc.record({
          workers: count,
          doubledWorkers: count,
          before: fc.array(amount),
          after: fc.array(amount),
        }),
        { nil: undefined },
      ),
      bytesPerSecond: fc.option(amount, { nil: undefined }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 8 }),
      fc.integer({ min: 1, max: 40 }),
      fc.array(slice, { maxLength: 6 }),
      some,
      host,
      probes,
      (steps, times, makers, facts, h, probes) => {
        const all = Array.from({ length: times }, () => steps).flat()
        const d = judge({
          version: 1,
          from: 0,
          to: 1,
          facts,
          steps: all,
          makers,
          host: h && { ...HOST, ...h },
          probes,
          lost: 0,
        } as Evidence)
        sound(d)
        expect(explain(d)).not.toMatch(/NaN|Infinity|undefined/)
      },
    ),
  )
})

/** Windows that were recorded: `{ evidence, verdicts }`, where any of the verdicts is right. */
const FOLDER = join(import.meta.dirname, 'cases')
const recorded = existsSync(FOLDER) ? readdirSync(FOLDER).filter(name => /\.json(\.gz)?$/.test(name)) : []

describe.runIf(existsSync(FOLDER))('recorded windows', () => {
  test('there are some', () => expect(recorded.length).toBeGreaterThan(0))

  test.each(recorded)('%s', name => {
    const bytes = readFileSync(join(FOLDER, name))
    const { evidence, verdicts } = JSON.parse(String(name.endsWith('.gz') ? gunzipSync(bytes) : bytes)) as {
      evidence: Evidence
      verdicts: VerdictName[]
    }
    const d = judge(evidence)
    expect(verdicts, explain(d)).toContain(d.verdict)
    sound(d)
  })
})

/** What holds of every diagnosis. */
function sound(d: Diagnosis): void {
  const numbers = [
    ...Object.values(d.parts),
    d.lost,
    d.ceiling ?? 0,
    ...d.remedies.flatMap(r => [r.predictedGain ?? 0, ...(r.interval ?? [])]),
  ]
  expect(numbers.filter(number => !Number.isFinite(number))).toEqual([])
  expect(Object.values(d.parts).reduce((a, b) => a + b, 0)).toBeCloseTo(1, 2)
  for (const { predictedGain } of d.remedies)
    if (predictedGain !== null) expect(predictedGain).toBeGreaterThanOrEqual(0.03)
  expect(d.second).not.toBe(d.verdict)
}

/** Every fiftieth step begins an epoch, with a long wait. */
function atEpochs(e: Evidence, supply: number): Evidence {
  return {
    ...e,
    steps: e.steps.map((step, i) => (i % 50 === 25 ? { ...step, supply, epochStart: true } : step)),
  }
}

/** A run whose first batch came so late (ms). */
function lateStart(e: Evidence, ms: number): Evidence {
  const [one] = e.steps
  const first = { ...one, asked: one.asked - ms, supply: ms, first: true }
  return { ...e, steps: [first, ...e.steps] }
}

/** A trainer whose own steps get longer and shorter, slowly. */
function drifting(e: Evidence): Evidence {
  return { ...e, steps: e.steps.map((step, i) => ({ ...step, compute: 20 * (1 + 0.1 * Math.sin(i / 8)) })) }
}

/** Waits of a few steps, far apart. */
function spread(e: Evidence): Evidence {
  return { ...e, steps: e.steps.map((step, i) => ({ ...step, supply: i % 66 === 5 ? 66 * step.supply : 0 })) }
}

/** Waits and hand-overs that change from block to block, against each other. */
function uneven(e: Evidence): Evidence {
  const steps = e.steps.map((step, i) => {
    const more = 1 + 0.3 * Math.sin(i / 11)
    return { ...step, supply: step.supply * more, handOver: step.handOver * (2 - more) }
  })
  return { ...e, steps }
}

function rank(rank: number, capacity: number) {
  return { rank, steps: 200, supplyMs: 10, computeMs: 20, capacity }
}

describe('lines on a run', () => {
  const accounting = (lost: number, part: keyof Parts = 'running', steps = 200): Accounting => {
    const parts = Object.fromEntries(PART_NAMES.map(name => [name, name === part ? lost : 0]))
    return { ...account(made()), steps, lost, parts: { ...parts, ideal: 1 - lost } as unknown as Parts }
  }
  const diagnosis = (verdict: Diagnosis['verdict'], second: Diagnosis['second'] = 'blocked'): Diagnosis => ({
    ...judge(made({ step: SLOW, running: 0.98 })),
    verdict,
    second,
    lost: 0.31,
  })

  test('an epoch: what was lost, and to what', () => {
    const line = (a: Accounting, d: Diagnosis) => epochLine(a, d).line
    expect(line(accounting(0.012), diagnosis('compute-bound'))).toBe('compute-bound (1.2 % lost)')
    expect(line(accounting(0.024, 'running', 6), diagnosis('inconclusive'))).toBe(
      'compute-bound (2.4 % lost)',
    )
    expect(line(accounting(0.31), diagnosis('under-parallel'))).toMatch(
      /^lost 31\.0 %, mostly to waiting for workers that are busy with a batch: 2 workers can't .*\S[^.]$/,
    )
    expect(line(accounting(0.31, 'blocked'), diagnosis('inconclusive'))).toBe(
      'lost 31.0 %, mostly to waiting for workers that wait for storage or a function',
    )
    const unseen = 'lost 98.0 %: too little was seen to say why'
    expect(line(accounting(0.98), diagnosis('inconclusive', null))).toBe(unseen)
    expect(line(accounting(0.98, 'noSlot'), diagnosis('inconclusive'))).toBe(unseen)
    expect(epochLine(accounting(0.31, 'running', 0), diagnosis('inconclusive'))).toEqual({
      line: null,
      certain: true,
    })
    const certain = [diagnosis('hand-over'), diagnosis('inconclusive')]
    expect(certain.map(d => epochLine(accounting(0.31), d).certain)).toEqual([true, false])
  })

  test('a run that goes on: rate of loss, and the cause where one is known', () => {
    expect(progressLine(accounting(0.081), diagnosis('under-parallel'))).toMatch(
      /^lost 8\.1 %: 2 workers can't [^.]*$/,
    )
    expect(progressLine(accounting(0.081), diagnosis('inconclusive'))).toBe('lost 8.1 %')
    expect(progressLine(accounting(0.001), diagnosis('compute-bound'))).toBe('lost 0.1 %')
    expect(progressLine(accounting(0.081, 'running', 0), diagnosis('inconclusive'))).toBeNull()
  })
})
